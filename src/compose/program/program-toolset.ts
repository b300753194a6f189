/** The toolset `program`: a model writes a program that calls tools, and gets the value that it returns. */
import { quoteValue } from "../../core/base/wording.ts";
import { checkNumber, COUNT } from "../../core/base/number-bounds.ts";
import { checkName } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Toolset } from "../../core/toolset.ts";
import type { ProgramLimits } from "../../processes/program/thread-messages.ts";
import { PROGRAM_LIMITS } from "./program-limits.ts";
import type { ProgramMode } from "../../registry/program-offer.ts";
import { programTool } from "./program-tool.ts";

/** Options of `programToolset`: how programs are offered, and their limits. */
export interface ProgramToolsetOptions extends Partial<ProgramLimits> {
  /** The namespace of the tool. @default "program" */
  readonly name?: string;
  /**
   * The tools that a loop offers its model: `alongside`: `run_program` and all other tools; `only`: `run_program` alone, whose description then declares
   * the others in TypeScript. In both, a program can call every tool that the caller may. @default "alongside"
   */
  readonly mode?: ProgramMode;
  /**
   * `calls`: approval is asked for each call that needs it, when the program makes it. `whole`: the program is simulated before it runs, and approval
   * is asked once for its text and all calls that it would make; see `Tool.approveWhole`. @default "calls"
   */
  readonly approve?: "calls" | "whole";
  /** Maximum number of characters of the declarations in the mode `only`. Tools beyond it are only named, then only counted. @default 40_000 */
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
 * Returns a toolset with one composite tool, `run_program`: runs JavaScript written by the model in an isolated interpreter (QuickJS, in a thread,
 * with limits of memory and time). The program can only call tools: `tools.shop.order({ … })` is a normal call of the session, with the rights of the
 * caller, and is approved, locked, retried, simulated and recorded separately. Needs the package `quickjs-emscripten`.
 *
 * After a crash the program is run again; calls that had ended return their first results.
 *
 * @throws ToolError `invalid_argument` for an invalid option
 */
export function programToolset(options: ProgramToolsetOptions = {}): Toolset {
  checkKnownKeys(options, OPTIONS, "programToolset()");
  const { name = "program", mode = "alongside", approve = "calls", maxDeclarationChars = DEFAULT_DECLARATION_CHARS } = options;
  checkName(name, "toolset");
  if (mode !== "alongside" && mode !== "only")
    throw new ToolError("invalid_argument", `The mode of programToolset() must be "alongside" or "only", not ${quoteValue(mode)}.`);
  if (approve !== "calls" && approve !== "whole")
    throw new ToolError(
      "invalid_argument",
      `The option approve of programToolset() must be "calls" or "whole", not ${quoteValue(approve)}.`,
    );
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
