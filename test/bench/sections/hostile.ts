import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { meet } from '../../hostile/mirror.js';
import { openHostilePlatform } from '../../hostile/platform.js';
import type { HostileAddresses } from '../../hostile/serve.js';
import { shapes } from '../../hostile/shapes.js';
import { type Measure, measure, type Scale, type Section } from '../measures.js';

/** The longest that a response may block the event loop, in milliseconds. */
const turnMillisMax = 250;
/** The resolution of the event loop monitor in milliseconds. */
const resolution = 1;

export const hostile: Section = {
  name: 'hostile',
  each: false,
  says:
    'The longest block of the event loop while a daemon’s engine reads a hostile response, as a listing and as a delta, ' +
    'each in a fresh mirror; the worst of all shapes of `test/hostile/shapes.ts`, and the five shapes that took longest.',
  measure: async (scale) => {
    const platform = await startPlatform(scale);
    try {
      const chosen = scale.apart ? shapes : shapes.slice(0, 3);
      const longest: { name: string; millis: number }[] = [];
      for (const [at, shape] of shapes.entries()) {
        if (!chosen.includes(shape)) continue;
        for (const where of ['listing', 'delta'] as const) {
          const rounds: number[] = [];
          for (let round = 0; round < scale.rounds; round += 1)
            rounds.push(await longestTurn(`${platform.baseUrl}/${at}/${where}`, where));
          // Other load on the machine can only make turns longer, so the shortest round counts.
          longest.push({ name: `${shape.name}, ${where}`, millis: Math.min(...rounds) });
        }
      }
      longest.sort((one, other) => other.millis - one.millis);
      const [worst] = longest;
      if (worst === undefined) throw new Error('there is no shape');
      return [
        measure(`longest turn, ${longest.length} answers`, 'ms', [worst.millis], { most: turnMillisMax }),
        ...longest.slice(0, 5).map(({ name, millis }): Measure => measure(name, 'ms', [millis])),
      ];
    } finally {
      await platform.close();
    }
  },
};

async function longestTurn(baseUrl: string, where: 'listing' | 'delta'): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-hostile-'));
  const delay = monitorEventLoopDelay({ resolution });
  try {
    await meet(baseUrl, where, folder, async (tick) => {
      delay.enable();
      const result = await tick();
      // A turn that ends with the tick appears in the next sample.
      await new Promise((resolve) => setTimeout(resolve, 5 * resolution));
      delay.disable();
      return result;
    });
    return delay.max / 1e6;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a separate process: building a hostile response takes longer than reading it. */
async function startPlatform({ apart }: Scale): Promise<HostileAddresses & { close(): unknown }> {
  if (!apart) return await openHostilePlatform();
  const child = fork(fileURLToPath(new URL('../../hostile/serve.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  });
  const [{ baseUrl }] = (await once(child, 'message')) as [HostileAddresses];
  return { baseUrl, close: () => child.disconnect() };
}
