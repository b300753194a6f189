/** The bounds and defaults of the limits of programs. */
import { COUNT, type Bounds } from "../../core/base/number-bounds.ts";
import type { ProgramLimits } from "../../processes/program/thread-messages.ts";

export const PROGRAM_LIMITS = {
  maxRunMs: { ...COUNT, max: 600_000, default: 5_000 },
  maxMemoryMb: { ...COUNT, min: 16, max: 1_024, default: 64 },
  maxCalls: { ...COUNT, max: 100_000, default: 1_000 },
  maxLogChars: { ...COUNT, max: 10_000_000, default: 16_000 },
} as const satisfies Record<keyof ProgramLimits, Bounds & { readonly default: number }>;
