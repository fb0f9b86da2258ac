"""What docs/results.md says beside the figures: the questions, and reasons written by hand.

Reasons hold no figures of ours: those are made from the JSON documents.
"""

import results_batch as batch
import results_questions as ask
from results_questions import Question

HEAD = """
# Results of replay

This page is made by one command from the JSON documents under [results/](results/):

    make results TRACES=path/to/traces

Recorded sessions of coding agents are replayed: the corpora see what had been said by then, each
step asks the real drafter and the real policy, and the recorded output plays the target.
Speed-ups are *modelled*: tokens · T(1) over ΣT(1 + D), for a given cost T of a target pass.
At batch 16 the calls of a source are walked sixteen at a time, a pass over all of them costs
T(16 + ΣD), and the speed-up is over the same calls decoded plainly side by side.
*Accept length* is the mean of A + 1 over steps. Nothing here is a measured rate; `agspec-tui
bench` measures those. Means over sources give each source the same weight.

The recordings were made by other models with other tokenizers, so the figures say how far the
*text* can be copied, not how often a local model accepts. Profiles and global corpora always come
from the other half of the tasks. Sessions of `claude_code` are of one repository, those of
`aider_own` too, and most of `hyperagent` are attempts at one issue, so that their other half is
close to them; read these sources apart. The counts behind a decision never come from a session's
own half, but the rule of the default policy was chosen with an eye on these recordings.
"""

CANNOT = """
## What replay cannot show

- **Measured throughput** and the share of prefill: a model of the pass stands in for the machine.
- **EAGLE-3 and other model drafters**: they need the target's hidden states or another model's
  choices.
- **The paper's models**: the recorded outputs are those of other models; whether a target accepts
  a copied token is not in a recording.
- **Emission form of unified diffs**: no recording here edits by them, so that the space and minus
  views never meet an edit. Escaped copies can be seen where edits are JSON strings.
- **Sessions without a repository** (LiveCodeBench): none is recorded here.
- **The order of a batch's calls**: the calls of a source stand side by side in their order, each
  with the corpora of its own session as they were when it was recorded. A real batch holds
  whatever is asked at the time, and reads prompts in the same passes.
"""

QUESTIONS = (
    Question(
        "session",
        "A session corpus instead of a per-call one",
        "accept length ×1.6–2.1, the largest single gain.",
        ("global-call", "global-session"),
        ask.session_corpus,
    ),
    Question(
        "workspace",
        "The workspace corpus",
        "+26–47 % alone, +2.2–7.0 % on top of the session corpus; all together 2.9–4.8× the global"
        " corpus alone.",
        ("global", "global-workspace", "global-session", "global-session-workspace"),
        ask.workspace_corpus,
    ),
    Question(
        "views",
        "Emission form",
        "the coder's accept length +13–39 % in the first turn, 3 % or less in the fifth.",
        ("views", "no-views"),
        ask.emission_views,
    ),
    Question(
        "engine",
        "AgSpec over its engine",
        "SuffixDecoding: throughput +16.5 %, accept length +18.5 %. SAM-Decoding: throughput"
        " +64.6 %, accept length nearly ×2.",
        ("main",),
        ask.over_engine,
    ),
    Question(
        "prior",
        "AgSpec over the fastest prior method",
        "+18.0 % on average; +35–145 % without a repository, +9.3–27.2 % without roles.",
        ("main",),
        ask.over_prior,
    ),
    Question(
        "plain",
        "AgSpec over plain decoding",
        "2.27–4.37× at batch 1, 1.08–4.76× at batch 16.",
        ("main", "batch-16"),
        ask.over_plain,
    ),
    Question(
        "length",
        "Draft length at batch 1 and 16",
        "K = 32 is 14 % faster than K = 8 at batch 1 and 30 % slower at batch 16; AgSpec is the"
        " fastest at both, +25 % and +16 % over K = 8.",
        ("main", "batch-16"),
        batch.draft_length,
    ),
    Question(
        "rejected",
        "Rejected tokens a step at batch 1",
        "K = 32: 11–26; AgSpec at most 6, accepting 83–89 % as many.",
        ("main",),
        ask.rejected,
    ),
    Question(
        "turns",
        "Drafts lengthen with the turns",
        "about 10 tokens in early turns, 21 in the fifth.",
        ("turns",),
        ask.by_turn,
    ),
    Question(
        "alpha",
        "α alone on K = 32 at batch 16",
        "throughput +66 %, rejected share 78 % → 50 %.",
        ("batch-16",),
        batch.scale_alone,
    ),
)

REASONS = {
    "session": """
The sign is the paper's where an agent starts from an empty context again and again. Where every
call goes on from the call before, a per-call corpus already holds the whole session, and nothing
is left to be gained; most recordings here are of that kind.
""",
    "workspace": """
Recordings hold only what the session showed of a file, and what was shown is in the prompt, so
the session corpus has nearly all of it. The paper indexes whole files of the repository. What is
left on top are the forms that edits have.
""",
    "views": """
Only recordings whose edits are JSON strings meet a view that is not raw text. The others edit by
search and replace, by whole files or by shell commands, whose text is that of the file. A single
file that is written whole moves the figure of a turn, since few sessions reach it.
""",
    "engine": """
SuffixDecoding's own length rule is a good one, and its global tree sees the outputs of a session
in replay as well, which leaves less to gain over it. SAM-Decoding forgets everything after a
call, here as in the paper.
""",
    "prior": """
What is left of the paper's distance depends on the cost. On the GPU shape drafts are nearly free
and every drafter that finds the same matches does well. On the CPU and Metal shapes most drafts
cost more than they bring: most prior drafters, and paper mode, fall below plain decoding; those
that hardly ever draft stay just above it, and what gains is a policy that may draft nothing and
knows when a long draft holds.
""",
    "plain": """
The recorded agents write more new text than the paper's: explanations, commands, new code. Chat
scaffolds, which are always accepted, are not in recordings. The oracle shows how much could be
had at all with these drafts.
""",
    "length": """
Accepted runs are shorter here, so that a fixed length of 32 rejects more of what it drafts, and
the order of the fixed lengths may turn round already at batch 1. Where the cost of a pass is a
line, as beyond 8 tokens on the GPU shape, a token costs the same whatever the others draft, and
one budget for all is worth little beside sequences that each reckon with company like themselves.
It is worth more the more the cost is a stair: together the sequences fill a step that none of
them could fill alone.
""",
    "rejected": """
Accepted runs are shorter here, so that K = 32 rejects most of what it drafts, and the policies
ask for less: they follow the match, and matches in these recordings are short most of the time.
""",
    "turns": """
A turn here begins with an edit and lasts to the next one; recordings have no pipeline rounds.
Later turns are reached by the longer sessions only, so a column of a later turn is not of the
same sessions as an earlier one.
""",
    "alpha": """
The effect has the paper's sign. The share that is rejected is larger throughout, since recorded
text is copied in shorter runs than a model's own repeated output.
""",
}
"""Why ours differ, as far as it can be told from the data; by the keys of the questions."""
