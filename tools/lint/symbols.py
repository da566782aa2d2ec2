"""What core's archives ask of the world: no clock, thread, socket, environment or randomness."""

import pathlib
import re
import subprocess

C_NAMES = """
accept bind clock clock_gettime clock_nanosleep close connect drand48 fopen fork getaddrinfo getenv
getentropy gettimeofday getrandom listen mmap nanosleep open pthread_cond_wait pthread_create
pthread_mutex_lock rand rand_r random read recv recvmsg secure_getenv select send sendmsg sendto
sleep socket srand srandom time usleep write
""".split()
FORBIDDEN = re.compile(
    rf"({'|'.join(C_NAMES)})(@.*)?"
    r"|.*\bstd::chrono::.*_clock::now\(\).*"
    r"|std::(thread|random_device|this_thread|condition_variable|filesystem)\b.*"
    r"|std::(_V2::)?(basic_)?[io]?fstream\b.*"
)


def check(archives: list[pathlib.Path]) -> list[str]:
    errors = []
    for archive in archives:
        listing = subprocess.run(
            ["llvm-nm-19", "--demangle", "--undefined-only", "--format=just-symbols", archive],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        names = {line.strip() for line in listing.splitlines()}
        for name in sorted(names):
            if FORBIDDEN.fullmatch(name):
                errors.append(f"{archive.name}: uses {name}, which core must not")
    return errors
