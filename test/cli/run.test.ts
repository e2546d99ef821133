import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { allCommands } from '../../src/cli/commands-for.js';
import { exitCodes } from '../../src/cli/exit-codes.js';
import { Fault, type FaultCode } from '../../src/domain/fault.js';
import { type ChildFailed, childFailed, faultOfChild } from '../../src/runtime/child-failed.js';
import { systemClock } from '../../src/runtime/clock.js';
import { tempFolder } from '../store/temp-folder.js';
import { commandOf, fakeIo, rosterd } from './fake-io.js';

const commands = await allCommands();

test.each<[FaultCode, number]>([
  ['usage', 2],
  ['reauthorize', 3],
  ['unauthorized', 3],
  ['forbidden', 3],
  ['rate_limited', 5],
  ['stopped', 5],
  ['unreachable', 1],
])('the fault %s exits with %i', async (code, exit) => {
  const failing = commandOf(async () => {
    throw new Fault(code, 'it did not work');
  });
  const answer = await rosterd(['probe'], fakeIo(), [failing]);
  expect(answer).toMatchObject({ code: exit, out: '' });
  // The fault has no hint of its own, so the default next step is printed.
  expect(answer.err).toMatch(/^error: it did not work\nTry: .+\n$/);
});

test('a hint that asks what was meant is printed as that question', async () => {
  const probe = commandOf(() => {
    throw new Fault('usage', 'no such column: stauts', { hint: 'Did you mean status?' });
  });
  const { err } = await rosterd(['probe'], fakeIo(), [probe]);
  expect(err).toBe('error: no such column: stauts\nDid you mean status?\n');
});

test('a fault prints its message and a hint, without a stack trace', async () => {
  const failing = commandOf(async () => {
    throw new Fault('unreachable', 'api.example.com did not answer', { hint: 'check the network' });
  });
  const { err, out } = await rosterd(['probe', '--log-level', 'debug'], fakeIo(), [failing]);
  expect(err).toBe('error: api.example.com did not answer\nTry: check the network\n');
  expect(out).toBe('');
});

test('an unexpected error prints one line that asks to report it, and a stack trace only at debug level', async () => {
  const failing = commandOf(async () => {
    throw new TypeError('x of undefined, at_live_abc');
  });
  const quiet = await rosterd(['probe'], fakeIo(), [failing]);
  expect(quiet.code).toBe(exitCodes.failed);
  expect(quiet.err).toMatch(/^error: .*please report it\nTry: .*--log-level debug.*\n$/);
  const loud = await rosterd(['probe', '--log-level=debug'], fakeIo(), [failing]);
  expect(loud.err).toContain('run.test.ts');
  expect(loud.err).toContain('at_live_…');
});

test('where a child process failed unexpectedly is printed at debug level only', async () => {
  const failing = commandOf(async () => {
    const reply = childFailed(new TypeError('x of undefined, at_live_abc'), 'the backup failed unexpectedly');
    throw faultOfChild(JSON.parse(JSON.stringify(reply)) as ChildFailed);
  });
  const quiet = await rosterd(['probe'], fakeIo(), [failing]);
  expect(quiet.code).toBe(exitCodes.failed);
  expect(quiet.err).toMatch(/^error: the backup failed unexpectedly\nTry: .*--log-level debug.*\n$/);
  const loud = await rosterd(['probe', '--log-level=debug'], fakeIo(), [failing]);
  expect(loud.err).toMatch(
    /^error: the backup failed unexpectedly\nTypeError: .*at_live_…\n +at .*run\.test\.ts/,
  );
});

test.each([
  [['probee'], "unknown command 'probee'", 'Did you mean probe?'],
  [['probe', '--jsn'], "unknown option '--jsn'", 'Did you mean --json?'],
  [['probe', 'extra'], 'too many arguments', 'Try: rosterd probe --help'],
  [['probe', '--log-level', 'loud'], 'Allowed choices are', 'Try: rosterd probe --help'],
])('%j is a usage error with a suggestion', async (args, message, suggestion) => {
  const probe = commandOf(async () => exitCodes.done, { options: [{ flags: '--json', summary: 'JSON' }] });
  const { code, err, out } = await rosterd(args, fakeIo(), [probe]);
  expect(code).toBe(2);
  expect(err).toContain(message);
  expect(err).toContain(suggestion);
  expect(out).toBe('');
});

test('help goes to stdout and exits 0; without a command the help is printed and the exit code is an error', async () => {
  const { out } = await rosterd(['--help']);
  expect(await rosterd(['--help'])).toMatchObject({ code: 0, err: '' });
  expect(await rosterd([])).toMatchObject({ code: 2, out, err: 'error: no command was given\n' });
  const half = await rosterd(['config']);
  expect(half).toMatchObject({ code: 2, err: 'error: no command was given after config\n' });
  expect(half.out).toContain('validate [options]');
});

test.each([
  [['forget'], "missing required argument 'id'", 'Try: rosterd forget --help'],
  [['endpoints', 'show'], "missing required argument 'id'", 'Try: rosterd endpoints show --help'],
  [['endpoints', 'frobnicate'], 'unknown command', 'Try: rosterd endpoints --help'],
])('%j prints the help of that command', async (args, message, hint) => {
  const { code, err, out } = await rosterd(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
  expect(err).toContain(hint);
});

test.each(commands.map((command) => [command.name, command] as const))(
  'the help of %s starts with examples that parse, and fits 80 columns',
  async (name, command) => {
    const { code, out } = await rosterd(['help', ...name.split(' ')]);
    expect(code).toBe(0);
    expect(out).toMatch(/^Examples:\n {2}\S/);
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(command.examples.length).toBeGreaterThanOrEqual(2);
    for (const [line] of command.examples) expect(line).toContain(`rosterd ${name}`);
  },
);

test('the list of commands fits into 80 columns', async () => {
  const { out } = await rosterd(['--help']);
  expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('the first signal asks the command to finish, the second ends the process', async () => {
  const io = fakeIo();
  const probe = commandOf(async ({ signal }) => {
    io.signals.emit('SIGTERM');
    expect(signal.aborted).toBe(true);
    expect(io.quits).toEqual([]);
    io.signals.emit('SIGINT');
    return exitCodes.stopped;
  });
  const { code, err } = await rosterd(['probe'], io, [probe]);
  expect(code).toBe(5);
  expect(io.quits).toEqual([5]);
  expect(err).toContain('finishing the current step');
  expect(io.signals.listenerCount('SIGINT') + io.signals.listenerCount('SIGTERM')).toBe(0);
});

test.each([
  ['has no listener, so it ends the process at once', true, 0],
  ['is kept in the first process of a container, which it would not end', false, 3],
])('a signal while a command blocks the event loop %s', async (_, endsBySignals, heard) => {
  const io = fakeIo({ endsBySignals });
  const listeners = () =>
    (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).reduce((sum, name) => sum + io.signals.listenerCount(name), 0);
  const seen: number[] = [];
  const probe = commandOf(async ({ signal, blocking }) => {
    await blocking(async () => seen.push(listeners())).then(() => seen.push(listeners()));
    await blocking(async () => Promise.reject(new Error('failed'))).catch(() => seen.push(listeners()));
    io.signals.emit('SIGTERM');
    expect(signal.aborted).toBe(true);
    return exitCodes.stopped;
  });
  expect((await rosterd(['probe'], io, [probe])).code).toBe(5);
  expect([...seen, listeners()]).toEqual([heard, 3, 3, 0]);
});

test.each([
  ['in memory', null, 2],
  ['a data file, which is completed first', 'world.db', 1],
])('sandbox: a signal ends the process while it seeds a world: %s', async (_, file, listened) => {
  const base = fakeIo();
  const flags = file === null ? [] : ['--data', join(tempFolder(), file)];
  let times = 0;
  const io: typeof base = {
    ...base,
    clock: systemClock,
    onSignal: (signal, listener) => {
      if (signal === 'SIGINT') times += 1;
      return base.onSignal(signal, listener);
    },
  };
  const ended = rosterd(['sandbox', '--companies', '1', '--records', '5', ...flags], io);
  await expect.poll(io.out).toContain('"event":"ready"');
  expect(times).toBe(listened);
  io.signals.emit('SIGINT');
  expect((await ended).code).toBe(0);
});

test('a signal that came while modules were loaded stops a command before it blocks the event loop', async () => {
  const base = fakeIo();
  const ignore = () => {};
  process.on('SIGUSR2', ignore);
  onTestFinished(() => {
    process.off('SIGUSR2', ignore);
  });
  const io: typeof base = {
    ...base,
    onSignal: (signal, listener) => {
      if (signal !== 'SIGTERM') return base.onSignal(signal, listener);
      process.on('SIGUSR2', listener);
      return () => process.off('SIGUSR2', listener);
    },
  };
  const probe = commandOf(async ({ signal, blocking }) => {
    // A real one: the event loop calls its listeners.
    process.kill(process.pid, 'SIGUSR2');
    return await blocking(async () => (signal.aborted ? exitCodes.stopped : exitCodes.done));
  });
  expect((await rosterd(['probe'], io, [probe])).code).toBe(exitCodes.stopped);
});

test('SIGHUP asks the command to finish, and a second one does not end the process', async () => {
  const io = fakeIo();
  const probe = commandOf(async ({ signal }) => {
    io.signals.emit('SIGHUP');
    io.signals.emit('SIGHUP');
    expect(signal.aborted).toBe(true);
    return exitCodes.stopped;
  });
  expect(await rosterd(['probe'], io, [probe])).toMatchObject({ code: 5, err: '' });
  expect(io.quits).toEqual([]);
  expect(io.signals.listenerCount('SIGHUP')).toBe(0);
});

test.each([
  [true, 'stops'],
  [false, 'does not stop'],
])('with a terminal %j, SIGHUP %s a command that reloads', async (tty) => {
  const io = fakeIo({ tty });
  const probe = commandOf(
    async ({ signal }) => {
      io.signals.emit('SIGHUP');
      expect(signal.aborted).toBe(tty);
      return exitCodes.done;
    },
    { reloads: true },
  );
  expect((await rosterd(['probe'], io, [probe])).code).toBe(0);
});

test('a terminal that closes asks the command to finish', async () => {
  const io = fakeIo({ tty: true });
  const probe = commandOf(async ({ signal }) => {
    io.stdout.emit('error', Object.assign(new Error('write EIO'), { code: 'EIO' }));
    io.stdout.emit('error', Object.assign(new Error('gone'), { code: 'ERR_STREAM_DESTROYED' }));
    await nextTurn();
    expect(signal.aborted).toBe(true);
    return exitCodes.stopped;
  });
  expect(await rosterd(['probe'], io, [probe])).toMatchObject({ code: 0, err: '' });
  expect(io.quits).toEqual([]);
});

test('a result that cannot be written asks the command to finish, and is a failure', async () => {
  const io = fakeIo();
  const lose = (code: string) => io.stdout.emit('error', Object.assign(new Error('lost'), { code }));
  const probe = commandOf(async ({ signal }) => {
    lose('ENOSPC');
    lose('ERR_STREAM_DESTROYED');
    expect(signal.aborted).toBe(true);
    throw new Fault('stopped', 'stopped before the end of the result');
  });
  expect(await rosterd(['probe'], io, [probe])).toMatchObject({
    code: 1,
    err: 'error: the result could not be written (ENOSPC)\nTry: again with another destination for the output\n',
  });
  expect(io.quits).toEqual([]);
});

test('a result that turns out to be lost after the command ends the process', async () => {
  const io = fakeIo();
  expect((await rosterd(['probe'], io, [commandOf(async () => exitCodes.done)])).code).toBe(0);
  io.stdout.emit('error', Object.assign(new Error('lost'), { code: 'ENOSPC' }));
  expect(io.quits).toEqual([1]);
});

test('a stopped command does not say that its work is kept', async () => {
  const probe = commandOf(async () => {
    throw new Fault('stopped', 'the export was stopped before its end; no file was written');
  });
  expect((await rosterd(['probe'], fakeIo(), [probe])).err).toBe(
    'error: the export was stopped before its end; no file was written\nTry: the same command again\n',
  );
});

test('unfinished progress stays above the error, so that the prompt gets a line of its own', async () => {
  const probe = commandOf(async ({ io, out }) => {
    out.progress('backup', io.clock).update({ pages: 0, rows: 0, share: 0.5 });
    throw new Fault('database_full', 'the disk is full', { hint: 'free some space' });
  });
  const { err } = await rosterd(['probe'], fakeIo({ tty: true, env: { NO_COLOR: '1' } }), [probe]);
  expect(err.split('\n').slice(1)).toEqual(['error: the disk is full', 'Try: free some space', '']);
});

test('a second signal ends the line of unfinished progress', async () => {
  const atQuit: string[] = [];
  const io = fakeIo({ tty: true, quit: () => atQuit.push(io.err()) });
  const probe = commandOf(async ({ out }) => {
    out.progress('backup', io.clock).update({ pages: 0, rows: 0, share: 0.5 });
    io.signals.emit('SIGINT');
    io.signals.emit('SIGINT');
    return exitCodes.stopped;
  });
  await rosterd(['probe'], io, [probe]);
  expect(atQuit).toEqual([expect.stringMatching(/50 %\n$/)]);
});

test('a closed output pipe ends the command silently with exit code 0', async () => {
  const io = fakeIo();
  const probe = commandOf(async ({ signal }) => {
    io.stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await nextTurn();
    expect(signal.aborted).toBe(true);
    throw new Fault('stopped', 'stopped in the middle');
  });
  expect(await rosterd(['probe'], io, [probe])).toMatchObject({ code: 0, err: '' });
});

test.each([
  ['drift', exitCodes.drift, exitCodes.drift],
  ['a stop', exitCodes.stopped, exitCodes.done],
])('a closed output pipe leaves what the command found: %s', async (_, found, code) => {
  const io = fakeIo();
  const probe = commandOf(async () => {
    io.stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    return found;
  });
  expect(await rosterd(['probe'], io, [probe])).toMatchObject({ code, err: '' });
});

test.each([
  ['backup', ''],
  ['restore', ' '],
  ['support-bundle', ''],
  ['lake sync', ''],
  ['lake check', ''],
  ['lake sql', ''],
])('%s refuses the path %j of an unset variable, which would mean this folder', async (command, path) => {
  const env = {
    ROSTERD_PLATFORM__BASE_URL: 'http://127.0.0.1:1',
    ROSTERD_SOURCES: '[{"name":"acme","token":{"env":"ACME"}}]',
  };
  const io = fakeIo({ env });
  const { code, err } = await rosterd([...command.split(' '), path], io);
  expect([code, err]).toEqual([2, expect.stringMatching(/^error: [<[](?:file|dir)[>\]] is " ?"\nTry: /)]);
});

test('demo checks its flags before it says that it starts', async () => {
  const { err } = await rosterd(['demo', '--records', '0'], fakeIo());
  expect(err).toBe('error: --records is "0"\nTry: a whole number from 1 to 1000000\n');
});

test('demo refuses the address of a server, which it would take for the name of a file', async () => {
  const { code, err } = await rosterd(['demo', '--database', 'postgres://app:canary@db/mirror'], fakeIo());
  expect([code, err]).toEqual([2, expect.stringContaining('--database names a server\nTry: --database ./')]);
  expect(err).not.toContain('canary');
});

test('the command receives its arguments and options with their types', async () => {
  let seen: unknown;
  const probe = commandOf(
    async ({ args, options }) => {
      seen = [
        args,
        options.list('source'),
        options.whole('maxRows', { min: 1, max: 9 }),
        options.flag('json'),
      ];
      return exitCodes.done;
    },
    {
      args: [{ name: '<id>', summary: 'an id' }],
      options: [
        { flags: '--source <name>', summary: 'a source', repeats: true },
        { flags: '--max-rows <n>', summary: 'rows' },
        { flags: '--json', summary: 'JSON' },
      ],
    },
  );
  await rosterd(['probe', 'inv_1', '--source', 'a', '--source', 'b', '--max-rows', '3'], fakeIo(), [probe]);
  expect(seen).toEqual([['inv_1'], ['a', 'b'], 3, false]);
  const { code, err } = await rosterd(['probe', 'inv_1', '--max-rows', '10'], fakeIo(), [probe]);
  expect(code).toBe(2);
  expect(err).toContain('--max-rows is "10"\nTry: a whole number from 1 to 9');
});

test.each([
  [['help', 'qurey'], 'Did you mean query?'],
  [['qurey', '--help'], 'Did you mean query?'],
  [['help', 'config', 'shwo'], 'Did you mean show?'],
])('%j suggests the command instead of printing the help of all', async (args, suggestion) => {
  const { code, out, err } = await rosterd(args);
  expect([code, out, err]).toEqual([2, '', expect.stringContaining(suggestion)]);
});
