import { expect, test } from 'vitest';
import { attack, type Seen, type Victim } from './support/adversary.js';
import { MemoryMirror } from './support/memory-mirror.js';
import { acme } from './support/parts.js';
import type { VirtualClock } from './support/virtual-clock.js';

const seeds = 1000;

/** Commits survive a crash; the lease of the dead process expires. */
function memoryVictim(mirror: MemoryMirror): Victim {
  return {
    mirror,
    rows: () =>
      new Map([...(mirror.sources.get(acme)?.rows ?? [])].map(([id, row]) => [id, row.committed_cents])),
    cursor: () => {
      const active = mirror.sources.get(acme)?.active;
      return active?.kind === 'following' ? active.cursor : null;
    },
    reopen: async () => {
      const held = mirror.sources.get(acme);
      if (held !== undefined) held.holder = null;
      return memoryVictim(mirror);
    },
    close: async () => {},
  };
}

test(`PAGE-02 INV-09 CLIENT-08 the in-memory mirror equals the truth at rest in ${seeds} seeded worlds`, async () => {
  const total: Seen = { crashes: 0, restarts: 0, relists: 0, resyncs: 0, faults: 0, fallbacks: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const seen = await attack(seed, async (clock: VirtualClock) =>
      memoryVictim(new MemoryMirror(() => clock.now())),
    );
    for (const key of Object.keys(total) as (keyof Seen)[]) total[key] += seen[key];
  }
  // A batch in which an event never happened would prove nothing about it.
  for (const [what, times] of Object.entries(total)) expect(times, what).toBeGreaterThan(seeds / 100);
});
