/** Random numbers determined by a seed, so that a sample can be reproduced. */
import { checkArgument } from "../check-argument.ts";
import type { Random } from "../ports.ts";

/**
 * Returns the same numbers in [0, 1) for the same seed, on every machine (xoshiro128**, its state filled by splitmix32 from the seed's text).
 *
 * @see https://prng.di.unimi.it/xoshiro128starstar.c
 */
export function seededRandom(seed: number | string): Random {
  checkArgument(typeof seed === "number" || typeof seed === "string", "seededRandom()", "a number or a string", seed);
  const text = `${typeof seed}:${seed}`;
  let mixed = 0x9e3779b9;
  for (let at = 0; at < text.length; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x85ebca6b) >>> 0;
  const fill = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    return mixBits(mixed);
  };
  let [a, b, c, d] = [fill(), fill(), fill(), fill()];
  return {
    next() {
      const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
      const shifted = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= shifted;
      d = rotate(d, 11);
      return result / 4_294_967_296;
    },
  };
}

/** Spreads the bits of a 32-bit state, as splitmix32 does after each step. */
export function mixBits(state: number): number {
  let value = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
  value = Math.imul(value ^ (value >>> 15), 0x735a2d97);
  return (value ^ (value >>> 15)) >>> 0;
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** Returns an integer from 0 to below `count`. */
function pickIndex(random: Random, count: number): number {
  return Math.min(count - 1, Math.floor(random.next() * count));
}

/** Yields each item once, in random order; drawn lazily. */
export function* shuffle<Item>(random: Random, items: readonly Item[]): Generator<Item, void, undefined> {
  const left = [...items];
  while (left.length > 0) {
    const index = pickIndex(random, left.length);
    const item = left[index];
    const last = left.pop();
    if (item === undefined || last === undefined) return;
    if (index < left.length) left[index] = last;
    yield item;
  }
}
