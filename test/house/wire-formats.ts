/** Every wire format by the name of its factory, in the order of the pages. A new one gets its row here; `offered-tools.test.ts` finds one without. */
import type { WireFormat } from "../../src/wire/wire-format.ts";
import * as wire from "../../src/wire/wire.ts";

export const WIRE_FORMATS: Readonly<Record<string, () => WireFormat>> = {
  openAiResponses: wire.openAiResponses,
  openAiChat: wire.openAiChat,
  anthropicMessages: wire.anthropicMessages,
  gemini: wire.gemini,
  geminiInteractions: wire.geminiInteractions,
  bedrockConverse: wire.bedrockConverse,
  mistral: wire.mistral,
  cohere: wire.cohere,
  ollama: wire.ollama,
};
