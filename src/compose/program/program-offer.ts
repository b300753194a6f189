/** How programs are offered. */

/** `beside`: among the other tools; `only`: in place of them, with their types in its description. */
export type ProgramMode = "beside" | "only";

/** Kept in the metadata of the tool, under `program`. */
export interface ProgramOffer {
  readonly mode: ProgramMode;
  readonly maxDeclarationChars: number;
}

export const PROGRAM_TOOL = "run_program";
