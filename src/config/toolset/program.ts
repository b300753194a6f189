/** `type = "program"`: programs that a model writes, which call the tools of the other toolsets. */
import type { ProgramMode } from "../../registry/program-offer.ts";
import { PROGRAM_LIMITS } from "../../compose/program/program-limits.ts";
import { COUNT } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ProgramLimits } from "../../processes/program/thread-messages.ts";
import type { CommonConfig, ToolsetType } from "./toolset-type.ts";

export interface ProgramConfig extends CommonConfig, Partial<ProgramLimits> {
  readonly type: "program";
  /** @default "alongside" */
  readonly mode?: ProgramMode;
  /** @default "calls" */
  readonly approve?: "calls" | "whole";
  readonly maxDeclarationChars?: number;
}

export const programType: ToolsetType<ProgramConfig> = {
  keyAtFault: () => "type",
  read: (table, common) => ({
    type: "program",
    ...common,
    ...omitUndefined({
      mode: table.choice("mode", ["alongside", "only"]),
      approve: table.choice("approve", ["calls", "whole"]),
      maxDeclarationChars: table.number("maxDeclarationChars", COUNT),
      maxRunMs: table.number("maxRunMs", PROGRAM_LIMITS.maxRunMs),
      maxMemoryMb: table.number("maxMemoryMb", PROGRAM_LIMITS.maxMemoryMb),
      maxCalls: table.number("maxCalls", PROGRAM_LIMITS.maxCalls),
      maxLogChars: table.number("maxLogChars", PROGRAM_LIMITS.maxLogChars),
    }),
  }),
  async build({ name }, { mode, approve, maxDeclarationChars, maxRunMs, maxMemoryMb, maxCalls, maxLogChars }) {
    const { programToolset } = await import("../../compose/program/program-toolset.ts");
    return {
      toolset: programToolset({
        name,
        ...omitUndefined({ mode, approve, maxDeclarationChars, maxRunMs, maxMemoryMb, maxCalls, maxLogChars }),
      }),
    };
  },
};
