/** Computes vectors of texts with a function that the program provides. */
import { ToolError } from "../core/error.ts";
import { runLimited } from "./run-limited.ts";

/** Converts texts to vectors of the same length, in the same order. The signal aborts when they are not needed any more. */
export type Embed = (
  texts: readonly string[],
  options: { readonly signal: AbortSignal },
) => Promise<readonly (readonly number[] | Float32Array)[]>;

export interface EmbedOptions {
  readonly embed: Embed;
  /** Maximum number of texts in one call. Integer ≥ 1. @default 64 */
  readonly batchSize?: number;
  /** Maximum number of concurrent calls. Integer ≥ 1. @default 4 */
  readonly concurrency?: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Returns the vectors of all texts, each scaled to length 1.
 *
 * @throws ToolError `invalid_output` if vectors are missing, differ in length, or contain something else than numbers; `cancelled`; and any error of
 * `embed`, as a rejection
 */
export async function embedAll(texts: readonly string[], options: EmbedOptions): Promise<readonly Float32Array[]> {
  const { embed, batchSize = 64, concurrency = 4, signal, onProgress } = options;
  const starts = Array.from({ length: Math.ceil(texts.length / batchSize) }, (_, batch) => batch * batchSize);
  const vectors: Float32Array[] = [];
  let done = 0;
  const work = async (start: number): Promise<void> => {
    const batch = texts.slice(start, start + batchSize);
    const answer: unknown = await embed(batch, { signal });
    for (const [index, vector] of checkVectors(answer, batch.length).entries()) vectors[start + index] = vector;
    done += batch.length;
    onProgress?.(done, texts.length);
  };
  await runLimited(starts, work, { concurrency, signal });
  const lengths = new Set(vectors.map((vector) => vector.length));
  if (lengths.size > 1) throw noVectorsError(`they differ in length: ${[...lengths].join(", ")}`);
  return vectors;
}

function checkVectors(answer: unknown, count: number): readonly Float32Array[] {
  if (!Array.isArray(answer) || answer.length !== count)
    throw noVectorsError(`${count} were requested, but ${Array.isArray(answer) ? answer.length : "no array"} came back`);
  return answer.map((vector: unknown) => {
    if (!Array.isArray(vector) && !(vector instanceof Float32Array)) throw noVectorsError("one is not an array of numbers");
    const numbers = Array.from<unknown>(vector);
    if (!numbers.every((number) => Number.isFinite(number))) throw noVectorsError("one contains something other than numbers");
    if (numbers.length === 0) throw noVectorsError("one is empty");
    const single = Float32Array.from(numbers, Number);
    if (!single.every((number) => Number.isFinite(number))) throw noVectorsError("one contains a number that is too large");
    return toUnitVector(single);
  });
}

function noVectorsError(reason: string): ToolError {
  return new ToolError("invalid_output", `The embedding function returned no usable vectors: ${reason}.`);
}

/** Scales a vector to length 1. A zero vector stays zero, and so is similar to nothing. */
export function toUnitVector(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Returns the cosine of two vectors of length 1. Uses four sums, because a single one would make each addition wait for the one before. */
export function cosine(one: Float32Array, other: Float32Array): number {
  const { length } = one;
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let index = 0;
  for (; index + 3 < length; index += 4) {
    first += (one[index] ?? 0) * (other[index] ?? 0);
    second += (one[index + 1] ?? 0) * (other[index + 1] ?? 0);
    third += (one[index + 2] ?? 0) * (other[index + 2] ?? 0);
    fourth += (one[index + 3] ?? 0) * (other[index + 3] ?? 0);
  }
  for (; index < length; index++) first += (one[index] ?? 0) * (other[index] ?? 0);
  return first + second + third + fourth;
}
