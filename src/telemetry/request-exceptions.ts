/** Log records of failed requests to models. */
import * as api from "@opentelemetry/api";
import type { Context } from "@opentelemetry/api";
import type { ToolError } from "../core/error.ts";
import type { ContentSettings } from "./content-settings.ts";
import { SCOPE } from "./provider-detector.ts";
import { toRecordedText } from "./recorded-text.ts";
import { ATTRIBUTES, EVENTS } from "./semantic-conventions.ts";

/** The severity `WARN`, which the conventions want: the program may have another model to ask. */
const WARN = 13;

/**
 * Makes the log record that the conventions want for an exception, if a logger provider is registered. It has no stack: the message in its first line
 * may quote the conversation.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-exceptions.md — as of November 2026
 */
export function logException(error: ToolError, context: Context | undefined, { recordOutputs, redact }: ContentSettings): void {
  if (!("logs" in api)) return; // versions of the API before 1.10 have no logs
  api.logs.getLogger(SCOPE).emit({
    eventName: EVENTS.requestException,
    severityNumber: WARN,
    severityText: "WARN",
    attributes: {
      [ATTRIBUTES.exceptionType]: error.code,
      ...(recordOutputs ? { [ATTRIBUTES.exceptionMessage]: toRecordedText(error.message, redact) } : {}),
    },
    ...(context === undefined ? {} : { context }),
  });
}
