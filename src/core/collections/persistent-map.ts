/** An immutable map: every change creates a new map, which shares all but a few nodes with the old one. */

let changesBetween: <V>(before: PersistentMap<V>, after: PersistentMap<V>) => readonly string[];

/**
 * An immutable map from string to value: a hash array mapped trie, 32 ways wide.
 *
 * Reading takes time proportional to the key's length; a change copies at most 7 small nodes. Keys with the same hash share one sorted list, so many
 * of them cost time but no entry is lost. Maps with equal keys iterate in the same order, however they were created.
 *
 * @see https://infoscience.epfl.ch/record/64398 — Bagwell, Ideal Hash Trees (2001)
 */
export class PersistentMap<V> {
  readonly #root: Slot<V> | undefined;
  readonly size: number;

  private constructor(root: Slot<V> | undefined, size: number) {
    this.#root = root;
    this.size = size;
  }

  static empty<V>(): PersistentMap<V> {
    return new PersistentMap<V>(undefined, 0);
  }

  static {
    changesBetween = (before, after) => {
      const keys: string[] = [];
      addChanges(keys, before.#root, after.#root, 0);
      return keys.sort();
    };
  }

  get(key: string): V | undefined {
    return findLeaf(this.#root, key, hashKey(key), 0)?.value;
  }

  has(key: string): boolean {
    return findLeaf(this.#root, key, hashKey(key), 0) !== undefined;
  }

  /** Returns a map with this entry; this map itself if it already has the identical value. */
  set(key: string, value: V): PersistentMap<V> {
    const hash = hashKey(key);
    const found = findLeaf(this.#root, key, hash, 0);
    if (found !== undefined && Object.is(found.value, value)) return this;
    const leaf = new Leaf(hash, key, value);
    const root = this.#root === undefined ? leaf : insert(this.#root, leaf, 0);
    return new PersistentMap(root, found === undefined ? this.size + 1 : this.size);
  }

  /** Returns a map without this key; this map itself if it does not have the key. */
  delete(key: string): PersistentMap<V> {
    const leaf = findLeaf(this.#root, key, hashKey(key), 0);
    if (leaf === undefined || this.#root === undefined) return this;
    return new PersistentMap(remove(this.#root, leaf, 0), this.size - 1);
  }

  /** Yields every key with its value, in an order that depends only on the keys. */
  *entries(): IterableIterator<readonly [string, V]> {
    for (const leaf of leavesOf(this.#root)) yield [leaf.key, leaf.value];
  }
}

/**
 * Returns the keys that only one of the maps has, or whose values are not identical, sorted by UTF-16 units.
 *
 * Skips shared nodes: if one map was derived from the other, the time is proportional to the number of changes.
 */
export function changedKeys<V>(before: PersistentMap<V>, after: PersistentMap<V>): readonly string[] {
  return changesBetween(before, after);
}

/** Returns the 32-bit hash of a key: FNV-1a over UTF-16 units, followed by a mix that spreads it over all bits. */
export function hashKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

type Slot<V> = Leaf<V> | Collision<V> | Branch<V>;

class Leaf<V> {
  readonly hash: number;
  readonly key: string;
  readonly value: V;

  constructor(hash: number, key: string, value: V) {
    this.hash = hash;
    this.key = key;
    this.value = value;
  }
}

/** At least two leaves with the same hash, sorted by key. */
class Collision<V> {
  readonly hash: number;
  readonly leaves: readonly Leaf<V>[];

  constructor(hash: number, leaves: readonly Leaf<V>[]) {
    this.hash = hash;
    this.leaves = leaves;
  }
}

const BITS = 5;

/** Up to 32 slots, one for each set bit of the bitmap, indexed by the next five bits of the hash. A single slot is always a branch. */
class Branch<V> {
  readonly bitmap: number;
  readonly slots: readonly Slot<V>[];

  constructor(bitmap: number, slots: readonly Slot<V>[]) {
    this.bitmap = bitmap;
    this.slots = slots;
  }
}

function bitOf(hash: number, shift: number): number {
  return 1 << ((hash >>> shift) & 31);
}

/** Returns how many slots come before the one for this bit. */
function placeOf(bitmap: number, bit: number): number {
  let bits = bitmap & (bit - 1);
  bits -= (bits >>> 1) & 0x55555555;
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function slotAt<V>(branch: Branch<V>, bit: number): Slot<V> | undefined {
  return (branch.bitmap & bit) === 0 ? undefined : branch.slots[placeOf(branch.bitmap, bit)];
}

function findLeaf<V>(root: Slot<V> | undefined, key: string, hash: number, firstShift: number): Leaf<V> | undefined {
  let slot = root;
  for (let shift = firstShift; slot instanceof Branch; shift += BITS) slot = slotAt(slot, bitOf(hash, shift));
  if (slot === undefined || slot.hash !== hash) return undefined;
  if (slot instanceof Leaf) return slot.key === key ? slot : undefined;
  const leaf = slot.leaves[placeInCollision(slot, key)];
  return leaf?.key === key ? leaf : undefined;
}

/** Returns the index of the key among the leaves, or where it would be inserted. */
function placeInCollision<V>(collision: Collision<V>, key: string): number {
  let low = 0;
  let high = collision.leaves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const leaf = collision.leaves[middle];
    if (leaf !== undefined && leaf.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insert<V>(slot: Slot<V>, leaf: Leaf<V>, shift: number): Slot<V> {
  if (!(slot instanceof Branch)) return slot.hash === leaf.hash ? collide(slot, leaf) : split(slot, leaf, shift);
  const bit = bitOf(leaf.hash, shift);
  const place = placeOf(slot.bitmap, bit);
  const inner = slotAt(slot, bit);
  const slots = slot.slots.slice();
  if (inner === undefined) slots.splice(place, 0, leaf);
  else slots[place] = insert(inner, leaf, shift + BITS);
  return new Branch(slot.bitmap | bit, slots);
}

function collide<V>(slot: Leaf<V> | Collision<V>, leaf: Leaf<V>): Slot<V> {
  if (slot instanceof Leaf) {
    if (slot.key === leaf.key) return leaf;
    return new Collision(leaf.hash, slot.key < leaf.key ? [slot, leaf] : [leaf, slot]);
  }
  const place = placeInCollision(slot, leaf.key);
  const leaves = slot.leaves.slice();
  leaves.splice(place, leaves[place]?.key === leaf.key ? 1 : 0, leaf);
  return new Collision(leaf.hash, leaves);
}

/** Returns a branch with two slots whose hashes differ at this shift or a later one. */
function split<V>(one: Leaf<V> | Collision<V>, other: Leaf<V>, shift: number): Branch<V> {
  const bit = bitOf(one.hash, shift);
  const otherBit = bitOf(other.hash, shift);
  if (bit === otherBit) return new Branch(bit, [split(one, other, shift + BITS)]);
  return new Branch(bit | otherBit, bit >>> 0 < otherBit >>> 0 ? [one, other] : [other, one]);
}

/** Returns the slot without one of its leaves. */
function remove<V>(slot: Slot<V>, leaf: Leaf<V>, shift: number): Slot<V> | undefined {
  if (slot instanceof Leaf) return undefined;
  if (slot instanceof Collision) {
    const leaves = slot.leaves.filter((other) => other !== leaf);
    return leaves.length === 1 ? leaves[0] : new Collision(slot.hash, leaves);
  }
  const bit = bitOf(leaf.hash, shift);
  const place = placeOf(slot.bitmap, bit);
  const inner = slotAt(slot, bit);
  const rest = inner === undefined ? undefined : remove(inner, leaf, shift + BITS);
  const slots = slot.slots.slice();
  if (rest === undefined) slots.splice(place, 1);
  else slots[place] = rest;
  const [only] = slots;
  if (slots.length === 1 && !(only instanceof Branch)) return only;
  return new Branch(rest === undefined ? slot.bitmap & ~bit : slot.bitmap, slots);
}

function* leavesOf<V>(root: Slot<V> | undefined): IterableIterator<Leaf<V>> {
  if (root === undefined) return;
  const open: Slot<V>[] = [root];
  for (let slot = open.pop(); slot !== undefined; slot = open.pop()) {
    if (slot instanceof Leaf) yield slot;
    else for (const inner of slot instanceof Branch ? slot.slots : slot.leaves) open.push(inner);
  }
}

function addChanges<V>(keys: string[], before: Slot<V> | undefined, after: Slot<V> | undefined, shift: number): void {
  if (before === after) return;
  if (before instanceof Branch && after instanceof Branch) {
    for (let bits = before.bitmap | after.bitmap; bits !== 0; bits &= bits - 1) {
      addChanges(keys, slotAt(before, bits & -bits), slotAt(after, bits & -bits), shift + BITS);
    }
    return;
  }
  for (const leaf of leavesOf(before)) {
    const other = findLeaf(after, leaf.key, leaf.hash, shift);
    if (other === undefined || !Object.is(other.value, leaf.value)) keys.push(leaf.key);
  }
  for (const leaf of leavesOf(after)) {
    if (findLeaf(before, leaf.key, leaf.hash, shift) === undefined) keys.push(leaf.key);
  }
}
