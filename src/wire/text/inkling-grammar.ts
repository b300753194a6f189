/**
 * Inkling: each message has one kind of content; the name of a tool is before the mark of a call, and again in the JSON behind it.
 *
 * @see https://github.com/sgl-project/sglang `python/sglang/srt/function_call/inkling_detector.py` (2026)
 */
import { jsonCalls } from "./json-calls.ts";
import type { CallReader, TextGrammar } from "./text-grammar.ts";
import type { Reading, TextInput } from "./text-input.ts";

const MESSAGE = "<|message_model|>";
const INVOKE = "<|content_invoke_tool_json|>";
const END = "<|end_message|>";
const readCall = jsonCalls();
const readNamedCall = jsonCalls({ headEnd: INVOKE });
const NAME = /[\w.:-]/u;
const MAX_NAME = 256;

/** A message without a call is of another kind; its marks are not part of the text. */
const readMessage: CallReader = function* (context, mark) {
  const { input } = context;
  const head = yield* input.readWhile(NAME, MAX_NAME);
  if (yield* input.tryRead(INVOKE)) return yield* readNamedCall(context, mark);
  if (head !== "" && (yield* endsInsideMark(input, INVOKE))) return false;
  context.commit();
  if (head !== "") context.addText(head);
  return true;
};

/** Whether the text ends before this mark does. */
function* endsInsideMark(input: TextInput, mark: string): Reading<boolean> {
  for (let ahead = 0; ahead < mark.length; ahead++) {
    const next = yield* input.peek(ahead);
    if (next !== mark.charAt(ahead)) return next === "";
  }
  return false;
}

/** The prompt ends behind the mark of a message, so that the name is the first text of the model. */
const readPromptStart: CallReader = function* (context, mark) {
  const { input } = context;
  const name = yield* input.readWhile(NAME, MAX_NAME);
  return name !== "" && (yield* input.tryRead(INVOKE)) && (yield* readCall(context, mark));
};

export const INKLING: TextGrammar = {
  calls: [
    { mark: MESSAGE, read: readMessage },
    { mark: INVOKE, read: readCall },
  ],
  droppedMarks: ["<|content_text|>", END, "<|content_model_end_sampling|>", "<|endoftext|>"],
  thinking: [["<|content_thinking|>", END]],
  thinkingEnds: [MESSAGE, INVOKE],
  endsCall: (text, mark) => mark === END && text.includes(INVOKE) && text.trimEnd().endsWith("}"),
  start: { read: readPromptStart },
};
