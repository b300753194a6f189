import type { ConversationWriter } from "./conversation-writer.ts";
import { answerWords } from "./words/answer-words.ts";
import { requestWords } from "./words/request-words.ts";

const PLAIN_WRITER: ConversationWriter = {
  name: "code",
  request: (turn, { random }) => requestWords(turn, random),
  answer: (turn, { random }) => answerWords(turn, random),
};

/**
 * Returns a writer that needs no model: it writes requests from the descriptions of tools and the values of their calls, and answers from the fields
 * of results. In English.
 */
export function plainWriter(): ConversationWriter {
  return PLAIN_WRITER;
}
