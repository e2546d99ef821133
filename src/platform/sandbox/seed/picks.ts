import type { Random } from '../../../runtime/random.js';

export function pick<Item>(random: Random, items: readonly [Item, ...Item[]] | readonly Item[]): Item {
  const item = items[Math.floor(random.fraction() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Returns an integer from `low` to `high`, inclusive. */
export const between = (random: Random, low: number, high: number): number =>
  low + Math.floor(random.fraction() * (high - low + 1));

export const chance = (random: Random, share: number): boolean => random.fraction() < share;

/** Returns an item at random by weight. Weights may have any sum. */
export function weighted<Item>(random: Random, choices: readonly (readonly [Item, number])[]): Item {
  let left = random.fraction() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [item, weight] of choices) {
    left -= weight;
    if (left < 0) return item;
  }
  return pick(random, choices)[0];
}
