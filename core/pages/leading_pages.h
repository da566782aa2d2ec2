#pragma once

#include <cstddef>

namespace larder {

// What was asked for: the objects of `count` pages, page by page.
struct PageObjects {
  std::size_t count = 0;
  std::size_t objects = 1;  // of each page, all ranks' together; above zero
};

// How many pages a prefix has, from its begin: 1 1 0 1 1 is 2, since KV behind a gap is of no use.
// A page is there only if each of its objects is: has(index) says it of one, by its place in the
// list. Where ranks have keys of their own, asking for all of theirs makes the answer the same for
// every rank. Asks for none behind the first that is not there.
template <class Has>
std::size_t leading_pages(PageObjects asked, Has has) {
  for (std::size_t page = 0; page < asked.count; ++page) {
    for (std::size_t object = 0; object < asked.objects; ++object) {
      if (!has(page * asked.objects + object)) return page;
    }
  }
  return asked.count;
}

}  // namespace larder
