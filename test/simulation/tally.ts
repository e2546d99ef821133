import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Counters } from './counters.js';
import type { Tried } from './try-seed.js';

interface Written {
  readonly seeds: number;
  readonly violations: number;
  readonly events: number;
  readonly virtualHours: number;
  readonly counts: Readonly<Record<string, number>>;
}

const nothing: Written = { seeds: 0, violations: 0, events: 0, virtualHours: 0, counts: {} };

/** What a batch encountered, together with all earlier batches written to the same file. */
export class Tally {
  readonly counters = new Counters();
  seeds: number;
  violations: number;
  events: number;
  virtualHours: number;

  constructor(readonly file: string | undefined) {
    const before =
      file !== undefined && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Written) : nothing;
    const { seeds, violations, events, virtualHours, counts } = before;
    [this.seeds, this.violations] = [seeds, violations];
    [this.events, this.virtualHours] = [events, virtualHours];
    this.counters.merge(new Map(Object.entries(counts)));
  }

  add({ violation, events, virtualMillis, counts }: Tried): void {
    this.seeds += 1;
    if (violation !== null) this.violations += 1;
    this.events += events;
    this.virtualHours += virtualMillis / 3_600_000;
    this.counters.merge(counts);
  }

  save(): void {
    if (this.file === undefined) return;
    const { seeds, violations, events, virtualHours } = this;
    const counts = Object.fromEntries(this.counters.sorted());
    const written: Written = { seeds, violations, events, virtualHours, counts };
    writeFileSync(this.file, `${JSON.stringify(written, null, 1)}\n`);
  }
}
