import type { ConversationWriter } from "./conversation-writer.ts";
import { formatAnswer } from "./words/format-answer.ts";
import { formatRequest } from "./words/format-request.ts";

const PLAIN_WRITER: ConversationWriter = {
  name: "code",
  request: (turn, { random }) => formatRequest(turn, random),
  answer: (turn, { random }) => formatAnswer(turn, random),
};

/**
 * Returns a writer that needs no model: it writes requests from the descriptions of tools and the values of their calls, and answers from the fields
 * of results. In English.
 */
export function plainWriter(): ConversationWriter {
  return PLAIN_WRITER;
}
