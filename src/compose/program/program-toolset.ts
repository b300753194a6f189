/** The toolset `program`: a model writes a program that calls tools, and gets what it returns. */
import { quoted } from "../../core/base/wording.ts";
import { checkNumber, COUNT } from "../../core/base/number-bounds.ts";
import { checkName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { ProgramLimits } from "../../processes/program/thread-messages.ts";
import { PROGRAM_LIMITS } from "./program-limits.ts";
import type { ProgramMode } from "../../registry/program-offer.ts";
import { programTool } from "./program-tool.ts";

/** How programs are offered, and what they may use. */
export interface ProgramToolsetOptions extends Partial<ProgramLimits> {
  /** The namespace of the tool. @default "program" */
  readonly name?: string;
  /**
   * The tools that a loop offers its model: `run_program` and all other tools, or `run_program` alone, whose description then declares the others in
   * TypeScript. A program can call every tool that the caller may, in both. @default "beside"
   */
  readonly mode?: ProgramMode;
  /**
   * `calls`: each call that needs approval is asked about when the program makes it. `whole`: before a program runs it is simulated, and one question shows
   * its text and all calls that it would make; the answer covers those, see `Tool.approveWhole`. @default "calls"
   */
  readonly approve?: "calls" | "whole";
  /** Most characters of those declarations; tools past it are only named, then only counted. @default 40_000 */
  readonly maxDeclarationChars?: number;
}

const OPTIONS: OptionNames<ProgramToolsetOptions> = {
  name: true,
  mode: true,
  approve: true,
  maxDeclarationChars: true,
  maxRunMs: true,
  maxMemoryMb: true,
  maxCalls: true,
  maxLogChars: true,
};

const DEFAULT_DECLARATION_CHARS = 40_000;

/**
 * A toolset with one composite tool, `run_program`: JavaScript that the model wrote, run in an interpreter of its own (QuickJS, in a thread,
 * with memory and time that have an end). It reaches nothing but the tools: `tools.shop.order({ … })` is a call of the session like any
 * other, with the rights of the caller, approved, locked, retried, simulated and recorded by itself. Needs the package `quickjs-emscripten`.
 *
 * After a crash the program is run again; calls that had ended are answered with their first results.
 *
 * @throws ToolError `invalid_argument` for an option that cannot be
 */
export function programToolset(options: ProgramToolsetOptions = {}): Toolset {
  checkKnownKeys(options, OPTIONS, "programToolset()");
  const { name = "program", mode = "beside", approve = "calls", maxDeclarationChars = DEFAULT_DECLARATION_CHARS } = options;
  checkName(name, "toolset");
  if (mode !== "beside" && mode !== "only")
    throw new ToolError("invalid_argument", `The mode of programToolset() is "beside" or "only", not ${quoted(mode)}.`);
  if (approve !== "calls" && approve !== "whole")
    throw new ToolError("invalid_argument", `The option approve of programToolset() is "calls" or "whole", not ${quoted(approve)}.`);
  checkNumber(maxDeclarationChars, "maxDeclarationChars of programToolset()", COUNT);
  const limit = (key: keyof ProgramLimits): number => {
    checkNumber(options[key], `${key} of programToolset()`, PROGRAM_LIMITS[key]);
    return options[key] ?? PROGRAM_LIMITS[key].default;
  };
  const limits = {
    maxRunMs: limit("maxRunMs"),
    maxMemoryMb: limit("maxMemoryMb"),
    maxCalls: limit("maxCalls"),
    maxLogChars: limit("maxLogChars"),
  };
  return {
    name,
    description: "Programs that call tools.",
    tools: [programTool(limits, { mode, maxDeclarationChars }, approve === "whole")],
  };
}
