#include "real/system/doctor.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace larder::real {
namespace {

const std::filesystem::path machines = "tests/data/machines";

class Doctor : public testing::Test {
 protected:
  void look_at(const char* machine, DoctorQuestion question = {}) {
    question.ports = {7700, 7701};
    ASSERT_TRUE(std::filesystem::is_directory(machines / machine));
    findings_ = examine(read_machine_facts(machines / machine), question);
  }
  void expect(std::string_view subject, Verdict verdict, std::string_view found,
              std::string_view advice = "") {
    for (const Finding& finding : findings_) {
      if (finding.subject != subject) continue;
      EXPECT_EQ(to_string(finding.verdict), to_string(verdict)) << subject;
      EXPECT_NE(finding.found.find(found), std::string::npos) << subject << ": " << finding.found;
      EXPECT_NE(finding.advice.find(advice), std::string::npos)
          << subject << ": " << finding.advice;
      EXPECT_EQ(finding.advice.empty(), advice.empty()) << subject << ": " << finding.advice;
      return;
    }
    ADD_FAILURE() << "nothing was said of " << subject;
  }

  std::vector<Finding> findings_;
};

TEST_F(Doctor, OfAContainerSaysWhatItsLimitsAre) {
  look_at("container");
  expect("kernel", Verdict::good, "6.1.0-18-amd64, io_uring, MADV_POPULATE_WRITE");
  expect("memory", Verdict::good, "50.00 GiB of 62.79 GiB available");
  // 1.5 GiB are in use, of which 0.5 GiB are file pages that nobody uses.
  expect("memory limit", Verdict::note, "1.00 GiB of 2.00 GiB left in control group / (version 2)",
         "--memory must stay below");
  expect("locked memory", Verdict::note, "8.00 MiB", "memlock=-1");
  expect("open files", Verdict::good, "1048576");
  expect("huge pages", Verdict::good, "none reserved; transparent: madvise");
  expect("/dev/shm", Verdict::warning, "64.00 MiB", "--shm-size");
  expect("clock source", Verdict::good, "tsc");
  expect("port 7700", Verdict::warning, "taken by redis-server (pid 17)", "127.0.0.1:7701");
  expect("port 7701", Verdict::good, "free");
  expect("TCP congestion control", Verdict::note, "bbr (available: reno bbr cubic)", "cubic");
  expect("verbs devices", Verdict::note, "none");
  expect("ptrace_scope", Verdict::note, "1", "kernel.yama.ptrace_scope=0");
}

TEST_F(Doctor, MoreMemoryThanTheLimitIsAProblem) {
  look_at("container", {.memory = 2_GiB, .ports = {}});
  expect("memory limit", Verdict::problem, "1.00 GiB of 2.00 GiB left", "docker run --memory");
  look_at("container", {.memory = 60_GiB, .ports = {}});
  expect("memory", Verdict::problem, "50.00 GiB", "does not fit");
}

TEST_F(Doctor, OfAServerWithRdmaSaysWhatKeepsItFromIt) {
  look_at("mlx5");
  expect("kernel", Verdict::good, "5.15.0-105-generic, io_uring, MADV_POPULATE_WRITE");
  expect("locked memory", Verdict::problem, "64.00 KiB", "LimitMEMLOCK=infinity");
  // The limit of a group above ours counts; "max" is none.
  expect("memory limit", Verdict::note,
         "60.00 GiB of 64.00 GiB left in control group "
         "/user.slice/user-1000.slice",
         "--memory");
  expect("huge pages", Verdict::good, "4000 of 4096 free, of 2.00 MiB each; transparent: always");
  expect("/dev/shm", Verdict::good, "1007.75 GiB");  // half of the memory
  expect("NUMA nodes", Verdict::note, "2", "numactl");
  expect("port 7700", Verdict::note, "taken by larder (pid 4242)", "already");
  expect("verbs mlx5_0 port 1", Verdict::good, "ACTIVE, InfiniBand, 400 Gb/sec (4X NDR)");
  expect("verbs mlx5_1 port 1", Verdict::warning, "DOWN, Ethernet", "ip link set");
  expect("ptrace_scope", Verdict::good, "0");
}

TEST_F(Doctor, OfAnOldKernelSaysWhatIsMissing) {
  look_at("old-kernel");
  expect("kernel", Verdict::warning, "3.10.0-1160.el7.x86_64, no io_uring, no MADV_POPULATE_WRITE",
         "5.14");
  expect("memory", Verdict::note, "this kernel does not say", "");
  expect("memory limit", Verdict::note,
         "3.25 GiB of 4.00 GiB left in control group /docker/abc (version 1)", "--memory");
  expect("open files", Verdict::warning, "1024, at most 4096", "LimitNOFILE");
  expect("huge pages", Verdict::warning, "transparent: never", "madvise");
  expect("clock source", Verdict::warning, "hpet", "tsc");
  expect("waiting connections", Verdict::warning, "128", "somaxconn=4096");
  expect("port 7700", Verdict::warning, "taken by a process of another user", "--listen");
  expect("ptrace_scope", Verdict::good, "not restricted");
}

TEST_F(Doctor, OfAnEmptyMachineSaysThatItDoesNotKnow) {
  findings_ = examine(read_machine_facts("/no/such/root"), {.ports = {1}});
  expect("kernel", Verdict::warning, "unknown", "5.14");
  expect("open files", Verdict::note, "this kernel does not say");
  expect("memory limit", Verdict::good, "none");
  expect("port 1", Verdict::good, "free");
}

TEST(MachineFacts, OfThisMachineHaveWhatEveryLinuxTells) {
  const MachineFacts facts = read_machine_facts();
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_GE(facts.version.major, 3u);
  EXPECT_TRUE(facts.memory);
  EXPECT_TRUE(facts.files_max);
  EXPECT_EQ(examine_boot_clock().verdict, Verdict::good);
}

}  // namespace
}  // namespace larder::real
