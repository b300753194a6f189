/** Finds the names of a source that a misspelled name in a configuration may have meant. */

const MAX_COMPARED = 5_000;
const MAX_LENGTH = 80;

/** The names with the smallest edit distance, at most two. */
export function nearTexts(text: string, known: Iterable<string>): readonly string[] {
  if (text.length > MAX_LENGTH) return [];
  const wanted = text.toLowerCase();
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  return [...new Set(known)]
    .filter((candidate) => Math.abs(candidate.length - wanted.length) <= limit)
    .slice(0, MAX_COMPARED)
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, 2)
    .map(({ candidate }) => candidate);
}

/** The Levenshtein distance: the number of characters to insert, delete or replace. */
function editDistance(one: string, other: string): number {
  let previousRow: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const changed = (previousRow[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      current.push(Math.min(changed, (previousRow[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previousRow = current;
  }
  return previousRow[other.length] ?? 0;
}
