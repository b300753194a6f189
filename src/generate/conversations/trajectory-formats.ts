/** How a trajectory stands in its line: in our words, or as a provider's request would hold it. */
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { ModelTool } from "../../core/model.ts";
import { anthropicMessages } from "../../wire/anthropic.ts";
import { openAiChat } from "../../wire/openai-chat.ts";
import type { WireFormat } from "../../wire/wire-format.ts";
import { originOf, reportOf, resultsOf, trajectoryMessages, trajectoryResult, type Trajectory } from "./trajectory.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/**
 * `neutral`: `{ id, index, seed, plan, kind, tools, messages, report }` in our words, each result whole. `openai`: `{ messages, tools,
 * metadata }` as Chat Completions and its fine-tuning take them. `anthropic`: `{ system, messages, tools, metadata }` as the Messages API
 * does. `metadata` holds what the neutral form says besides, and of each result its status, origin and fidelity.
 */
export const TRAJECTORY_FORMATS = ["neutral", "openai", "anthropic"] as const;
/** How a generated conversation is written: one of `TRAJECTORY_FORMATS`. */
export type TrajectoryFormat = (typeof TRAJECTORY_FORMATS)[number];

/** How the lines of each format begin. */
export const OPENINGS: Readonly<Record<TrajectoryFormat, readonly string[]>> = {
  neutral: ['{"id":"conversation-'],
  openai: ['{"messages":['],
  anthropic: ['{"messages":[', '{"system":[{"type":"text",'],
};

export type TrajectoryWriter = (trajectory: Trajectory) => object;

/** @throws ToolError `invalid_argument` for a format that is not known */
export function trajectoryWriter(format: TrajectoryFormat): TrajectoryWriter {
  if (format === "neutral") return writeNeutral;
  if (format === "openai") return providerWriter(openAiChat());
  if (format === "anthropic") return providerWriter(anthropicMessages());
  throw new ToolError("invalid_argument", `The format ${JSON.stringify(format)} is not known.`, {
    hint: `There are: ${TRAJECTORY_FORMATS.join(", ")}.`,
  });
}

function writeNeutral(trajectory: Trajectory): object {
  const { tools, stop, error } = trajectory;
  return {
    ...originOf(trajectory),
    tools: tools.map(({ name, description, inputSchema, outputSchema }) => ({
      name,
      description,
      inputSchema,
      ...(outputSchema === undefined ? {} : { outputSchema }),
    })),
    messages: trajectoryMessages(trajectory),
    ...omitUndefined({ stop, error }),
    report: reportOf(resultsOf(trajectory)),
  };
}

/** Each tool is written once, however many conversations it is offered in. */
function providerWriter(format: WireFormat): TrajectoryWriter {
  const written = new Map<ModelTool, readonly JsonObject[]>();
  const toolOf = (tool: ModelTool): readonly JsonObject[] => {
    let own = written.get(tool);
    if (own === undefined) written.set(tool, (own = format.encodeTools([tool]).tools));
    return own;
  };
  return (trajectory) => {
    const { tools, messages: conversation, system: said } = trajectory;
    const spoken = said === undefined ? conversation : [{ role: "system", at: 0, content: said } as const, ...conversation];
    const { messages, system } = format.encodeMessages(spoken);
    return { ...(system === undefined ? {} : { system }), messages, tools: tools.flatMap(toolOf), metadata: metadataOf(trajectory) };
  };
}

function metadataOf(trajectory: Trajectory): object {
  const { stop, error } = trajectory;
  const results = resultsOf(trajectory);
  return {
    ...originOf(trajectory),
    results: results.map((result) => {
      const {
        output: _output,
        content: _content,
        repairs: _repairs,
        warnings: _warnings,
        error: failure,
        ...rest
      } = trajectoryResult(result);
      return { ...rest, ...(failure === undefined ? {} : { code: failure.code }) };
    }),
    ...omitUndefined({ stop, error }),
    report: reportOf(results),
  };
}
