import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { ChangePump } from '../../src/daemon/change-pump.js';
import { ListenerTurns } from '../../src/daemon/listener-turns.js';
import { createMirror, type Logger, type Mirror, type MirrorOptions } from '../../src/index.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { openReader } from '../../src/store/reads/open-reader.js';
import { type Embedded, embeddedMirror } from './embedded.js';

const patient = { timeout: 20_000, interval: 20 };

let world: Embedded;
beforeAll(async () => {
  world = await embeddedMirror();
  return () => world.close();
});

let files = 0;
/** A mirror of its own file, listed, until the test ends. */
async function listed(): Promise<Mirror> {
  files += 1;
  const mirror = await world.another({ database: `sqlite:./callbacks-${files}.db` });
  onTestFinished(() => mirror.stop());
  await mirror.tick();
  return mirror;
}

const change = () => world.control('POST', '/investments', { company: world.company.id });
const isOpen = (mirror: Mirror) =>
  mirror.query
    .selectFrom('investments')
    .select('id')
    .execute()
    .then(
      () => true,
      () => false,
    );

test('library: a tick in a listener of another mirror resolves after its own listeners have ended', async () => {
  const [outer, inner] = [await listed(), await listed()];
  const seen: string[] = [];
  inner.onChange(async () => {
    await isOpen(inner);
    seen.push('inner');
  });
  outer.onChange(async () => {
    await inner.tick();
    seen.push('outer');
  });
  await change();
  await outer.tick();
  expect(seen).toEqual(['inner', 'outer']);
});

test('library: `stop` in a listener of another mirror resolves when the mirror is closed', async () => {
  const [outer, inner] = [await listed(), await listed()];
  const open: boolean[] = [];
  outer.onChange(async () => {
    await inner.stop();
    open.push(await isOpen(inner));
  });
  await change();
  await outer.tick();
  expect(open).toEqual([false]);
});

test('library: listeners of two mirrors that tick each other do not wait for one another forever', async () => {
  const [one, other] = [await listed(), await listed()];
  const seen: string[] = [];
  one.onChange(async () => {
    await other.tick();
    seen.push('one');
  });
  other.onChange(async () => {
    await one.tick();
    seen.push('other');
  });
  await change();
  await Promise.all([one.tick(), other.tick()]);
  expect(seen.sort()).toEqual(['one', 'other']);
});

test('library: what a listener left running waits for listeners like the rest of the program', async () => {
  const mirror = await listed();
  const seen: string[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let left: Promise<void> | null = null;
  mirror.onChange(async () => {
    await isOpen(mirror);
    seen.push('heard');
    left ??= ended.then(async () => {
      await change();
      await mirror.tick();
      seen.push('ticked');
    });
  });
  await change();
  await mirror.tick();
  end();
  await left;
  expect(seen).toEqual(['heard', 'heard', 'ticked']);
});

test('library: calls while a listener works share one read of the changes', async () => {
  const mirror = await listed();
  const { db, close } = await openReader({ kind: 'sqlite', file: mirror.file ?? '' });
  onTestFinished(close);
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let calls = 0;
  const listener = () => {
    calls += 1;
    return ended;
  };
  const pump = new ChangePump(db, listener, silentLogger, new ListenerTurns(), 0);
  const first = pump.pump();
  await expect.poll(() => calls, patient).toBe(1);
  const later = Array.from({ length: 100 }, () => pump.pump());
  expect(new Set(later).size).toBe(1);
  await change();
  await mirror.tick();
  end();
  await Promise.all([first, ...later]);
  expect(calls).toBe(2);
});

/** Throws in half of its methods, and rejects in the others. */
const failing: Logger = {
  debug: async () => {
    throw new Error('mine');
  },
  info: () => {
    throw new Error('mine');
  },
  warn: async () => {
    throw new Error('mine');
  },
  error: () => {
    throw new Error('mine');
  },
  child: ({ component }) => {
    if (component === 'sync') return failing;
    throw new Error('mine');
  },
};

test('library: a logger that throws or rejects stops neither the mirror nor the program', async () => {
  const mirror = await createMirror(optionsWith({ logger: failing }));
  onTestFinished(() => mirror.stop());
  const heard: number[] = [];
  mirror.onChange(() => {
    throw new Error('mine');
  });
  mirror.onChange((changes) => void heard.push(changes.length));
  expect(await mirror.tick()).toMatchObject([{ report: { outcome: 'done' } }]);
  await mirror.start();
  await change();
  await mirror.tick();
  expect(heard.length).toBeGreaterThan(1);
});

function optionsWith(more: Partial<MirrorOptions>): MirrorOptions {
  files += 1;
  return {
    config: {
      platform: { baseUrl: world.sandbox.url },
      database: `sqlite:./callbacks-${files}.db`,
      sources: [{ name: 'acme', token: { env: 'TOKEN' }, company: world.company.id }],
    },
    cwd: world.folder,
    env: { TOKEN: world.company.token },
    ...more,
  };
}

const refused: readonly (readonly [string, unknown, string])[] = [
  ['no options', undefined, 'createMirror needs an object with its options'],
  ['a folder that is a number', { cwd: 5 }, 'cwd is not a text'],
  ['an environment that is null', { env: null }, 'env is not an object'],
  ['a variable that is a number', { env: { TOKEN: 4_711 } }, 'env.TOKEN is not a text'],
  ['a logger without children, such as the console', { logger: console }, 'logger has no method child'],
  ['a logger that is null', { logger: null }, 'logger has no method debug'],
  ['a clock without methods', { clock: {} }, 'clock has no method now'],
];

test.each(refused)('library: createMirror refuses %s', async (_, more, message) => {
  const options = (more === undefined ? undefined : optionsWith(more as object)) as MirrorOptions;
  await expect(createMirror(options)).rejects.toMatchObject({
    code: 'usage',
    message,
    about: { hint: expect.any(String) },
  });
});

test('library: a listener that is not a function is refused when it is added', () => {
  const wrong = 'mine' as unknown as () => void;
  expect(() => world.mirror.onChange(wrong)).toThrow('onChange needs a function');
  expect(() => world.mirror.onSources(wrong)).toThrow('onSources needs a function');
});
