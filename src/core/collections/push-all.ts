/** Appends lists and compares their numbers, whatever their length: a spread into a call fails at about 120,000 arguments. */

/** Appends items to a list. */
export function pushAll<Item>(list: Item[], items: Iterable<Item>): void {
  for (const item of items) list.push(item);
}

/** The largest number, as `Math.max` returns it. */
export function maxOf(numbers: Iterable<number>): number {
  let max = -Infinity;
  for (const number of numbers) max = Math.max(max, number);
  return max;
}

/** The smallest number, as `Math.min` returns it. */
export function minOf(numbers: Iterable<number>): number {
  let min = Infinity;
  for (const number of numbers) min = Math.min(min, number);
  return min;
}
