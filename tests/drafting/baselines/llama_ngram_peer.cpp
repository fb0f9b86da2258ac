// llama.cpp's n-gram drafters on a pipe, for comparing drafts with them. Compiled against its
// sources and linked without the rest of the library, which these drafters never call.
//
//   B seq n id…   a prompt of n tokens becomes the context of a sequence
//   F seq n id…   committed tokens go on with it
//   D seq n_max   draft: prints the number of tokens and the tokens
//   A seq n       n tokens of the last draft were accepted
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "log.h"
#include "speculative.h"

// Of the rest they call only the clock and the log, which are silent here.
common_time_meas::common_time_meas(int64_t& t_acc, bool) : t_start_us(-1), t_acc(t_acc) {}
common_time_meas::~common_time_meas() {}
common_log* common_log_main() { return nullptr; }
int common_log_get_verbosity_thold() { return 0; }
void common_log_add(common_log*, ggml_log_level, const char*, ...) {}

namespace {

constexpr uint32_t kSequences = 4;

void append(llama_tokens& context) {
  int n = 0;
  std::cin >> n;
  for (llama_token id = 0; n > 0 && std::cin >> id; --n) context.push_back(id);
}

void draft(common_speculative* drafter, llama_seq_id seq, const llama_tokens& context, int n_max) {
  const llama_tokens before(context.begin(), context.end() - 1);
  llama_tokens result;
  auto& request = common_speculative_get_draft_params(drafter, seq);
  request.drafting = true;
  request.n_max = n_max;
  request.id_last = context.back();
  request.prompt = &before;
  request.result = &result;
  common_speculative_draft(drafter);
  std::cout << result.size();
  for (const llama_token id : result) std::cout << ' ' << id;
  std::cout << std::endl;
}

}  // namespace

int main(int, char** argv) {
  common_params_speculative params;
  params.types = {common_speculative_type_from_name(argv[1])};
  common_speculative* drafter = common_speculative_init(params, kSequences);
  std::vector<llama_tokens> contexts(kSequences);
  char command = 0;
  for (llama_seq_id seq = 0; std::cin >> command >> seq;) {
    llama_tokens& context = contexts[static_cast<std::size_t>(seq)];
    int n = 0;
    if (command == 'B') {
      context.clear();
      append(context);
      common_speculative_begin(drafter, seq, context);
    } else if (command == 'F') {
      append(context);
    } else if (std::cin >> n && command == 'D') {
      draft(drafter, seq, context, n);
    } else if (command == 'A') {
      common_speculative_accept(drafter, seq, static_cast<uint16_t>(n));
    }
  }
  common_speculative_free(drafter);
}
