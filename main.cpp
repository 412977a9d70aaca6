#include <cstdio>
#include <cstring>
#include <sstream>

#include "relayout/derive.h"
#include "relayout/error.h"
int main(int n, char** a) {
  using namespace relayout;
  DeriveOptions o;
  const char* out = nullptr;
  auto split = [](const char* s) {
    std::vector<std::string> v;
    std::stringstream ss(s);
    std::string w;
    while (std::getline(ss, w, ',')) v.push_back(w);
    return v;
  };
  for (int i = 3; i + 1 < n; i += 2) {
    if (!strcmp(a[i], "--wrt")) o.wrt = split(a[i + 1]);
    if (!strcmp(a[i], "--of")) o.of = split(a[i + 1]);
    if (!strcmp(a[i], "-o")) out = a[i + 1];
  }
  try {
    const Derivative d = !strcmp(a[1], "jvp") ? Derivative::jvp : !strcmp(a[1], "vjp") ? Derivative::vjp : Derivative::hvp;
    auto r = differentiate(d, a[2], out, o);
    std::printf("%ld -> %ld nodes\n", long(r.nodes_before), long(r.nodes_after));
    for (auto& z : r.zeros) std::printf("zero %s\n", z.c_str());
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return exit_code(e.kind());
  }
}
