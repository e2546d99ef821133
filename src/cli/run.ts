import { setImmediate } from 'node:timers/promises';
import { CommanderError } from 'commander';
import { Fault } from '../domain/fault.js';
import type { Blocking } from '../runtime/blocking.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import { incompleteInstallation } from '../runtime/incomplete-installation.js';
import { maskCredentials } from '../wire/credential-shapes.js';
import type { Command } from './command.js';
import { adviceWithConfig, allCommands, commandsFor } from './commands-for.js';
import { type ExitCode, exitCodeOfFault, exitCodes } from './exit-codes.js';
import type { Io } from './io.js';
import { nextStep } from './next-step.js';
import { given, type Options } from './options.js';
import { Output } from './output/output.js';
import { Stderr } from './output/stderr.js';
import { guarded } from './output/terminal.js';
import { programOf } from './program.js';

/** Parses the arguments, runs one command and returns its exit code. Prints every error to stderr; never throws. */
export async function run(
  args: readonly string[],
  process: Io,
  only?: readonly Command[],
): Promise<ExitCode> {
  // The log, notes and progress share one stderr stream, so that they do not break each other's lines.
  const stderr = new Stderr(process.stderr, process.env);
  const io: Io = { ...process, stdout: guarded(process.stdout), stderr };
  const out = new Output(io);
  const stop = new AbortController();
  const { unlisten, stopAtHangUp, blocking, end } = listen(process, stderr, stop);
  let code: ExitCode = exitCodes.done;
  let words = spelledOut(args);
  let commands: readonly Command[] = only ?? [];
  try {
    // Each command is a file of its own, so loading it may fail too.
    if (only === undefined) commands = await commandsFor(words);
    if (!isKnown(words, commands)) words = words.filter((word) => word !== '--help' && word !== '-h');
    const program = programOf(commands, {
      writeOut: (text) => io.stdout.write(text),
      columns: io.stdout.columns ?? 80,
      run: async (command, operands, options) => {
        refuseEmptyPaths(options);
        const config = options.text('config');
        if (config !== undefined) out.advice = (note) => adviceWithConfig(note, config);
        if (command.reloads !== true || process.stderr.isTTY === true) stopAtHangUp();
        const { signal } = stop;
        code = await command.run({ io, out, args: operands, options, signal, blocking, allCommands });
      },
    });
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    // Progress that was not finished stays above the error.
    stderr.settle();
    // A command that ends because its output was closed is not an error.
    if (stop.signal.reason !== pipeClosed && stop.signal.reason !== outputLost)
      code = report(error, out, { debugging: isDebugging(args), command: namedIn(args, commands) });
  } finally {
    unlisten();
  }
  if (end().isOutputLost) return exitCodes.failed;
  return stop.signal.reason === pipeClosed && code === exitCodes.stopped ? exitCodes.done : code;
}

/** An empty path would mean the current folder. */
function refuseEmptyPaths(options: Options): void {
  for (const name of ['config', 'database']) {
    const path = options.text(name);
    if (path !== undefined) given(path, `--${name}`);
  }
}

/** The reader closed the pipe (`| head`) or the terminal: stopping for that counts as done. What a check found stays. */
const pipeClosed = 'the reader of stdout closed it';

/** What was written did not arrive, on a full disk for example. */
const outputLost = 'the result could not be written';

/** What a signal that stops the command gives as the reason. */
const signalled = 'signal';

interface Listening {
  /** Call it for a command that SIGHUP stops. */
  stopAtHangUp(): void;
  readonly blocking: Blocking;
  unlisten(): void;
  /** Call it when the command has ended. What it wrote may still fail to arrive; that ends the process. */
  end(): { readonly isOutputLost: boolean };
}

/** The first signal asks the command to finish its current step, the second ends the process. */
function listen(io: Io, stderr: Stderr, stop: AbortController): Listening {
  const out = new Output({ ...io, stderr });
  let isOutputLost = false;
  let hasEnded = false;
  const onSignal = () => {
    if (stop.signal.aborted) {
      stderr.settle();
      return io.quit(exitCodes.stopped);
    }
    stop.abort(signalled);
    out.note('finishing the current step; repeat the signal to quit immediately');
  };
  // When a terminal closes, the system sends SIGHUP and the shell often sends another, so it never ends the process.
  const onHangUp = () => stop.abort(signalled);
  const onOutputError = (error: NodeJS.ErrnoException) => {
    const isUnread = error.code === 'EPIPE' || (error.code === 'EIO' && io.stdout.isTTY === true);
    // Later writes to a closed terminal fail with other codes.
    if (isUnread || stop.signal.reason === pipeClosed) return stop.abort(pipeClosed);
    if (isOutputLost) return;
    isOutputLost = true;
    // A truncated result must not look complete.
    out.error(`the result could not be written (${error.code ?? 'unknown reason'})`);
    out.note('Try: again with another destination for the output');
    if (hasEnded) return io.quit(exitCodes.failed);
    // The command may have something to remove, such as a webhook endpoint.
    stop.abort(outputLost);
  };
  const ignoreClosed = () => {};
  io.stdout.on('error', onOutputError);
  // Errors of stderr itself cannot be reported anywhere.
  io.stderr.on('error', ignoreClosed);
  const heard = [() => io.onSignal('SIGINT', onSignal), () => io.onSignal('SIGTERM', onSignal)];
  let offs = heard.map((listenAgain) => listenAgain());
  const unlisten = () => {
    for (const off of offs) off();
  };
  return {
    stopAtHangUp: () => {
      const hangUp = () => io.onSignal('SIGHUP', onHangUp);
      heard.push(hangUp);
      offs.push(hangUp());
    },
    blocking: async (work) => {
      if (!io.endsBySignals) return await work();
      // Modules are loaded without a turn of the event loop. A signal that came meanwhile would be dropped with its listener;
      // each turn reads signals before it gets here, and the first one may be past that.
      await setImmediate();
      await setImmediate();
      unlisten();
      try {
        return await work();
      } finally {
        offs = heard.map((listenAgain) => listenAgain());
      }
    },
    unlisten,
    end: () => {
      hasEnded = true;
      return { isOutputLost };
    },
  };
}

interface Asked {
  readonly debugging: boolean;
  /** The command, or the first word of a two-word command, if it was recognized. */
  readonly command: string | undefined;
}

function report(error: unknown, out: Output, { debugging, command }: Asked): ExitCode {
  if (error instanceof CommanderError) return reportUsage(error, command, out);
  const fault = error instanceof Fault ? error : descriptorsFault(error);
  if (fault !== null) {
    out.error(fault.message);
    const next = fault.about.hint ?? nextStep[fault.code];
    if (debugging && fault.code === 'internal' && fault.cause instanceof Error)
      out.note(maskCredentials(fault.cause.stack ?? fault.cause.message));
    else out.note(next.startsWith('Did you mean ') ? next : `Try: ${next}`);
    return exitCodeOfFault[fault.code];
  }
  const incomplete = incompleteInstallation(error);
  if (incomplete !== null) {
    out.error(incomplete.message);
    out.note(`Try: ${incomplete.hint}`);
    return exitCodes.failed;
  }
  out.error('rosterd has reached an unexpected state; this is a bug, please report it');
  if (debugging)
    out.note(maskCredentials(error instanceof Error ? (error.stack ?? String(error)) : String(error)));
  else out.note('Try: again with --log-level debug, which adds a stack trace');
  return exitCodes.failed;
}

/** Commander throws to end help and version. Without a complete command it has already printed the help. */
function reportUsage(error: CommanderError, command: string | undefined, out: Output): ExitCode {
  if (error.exitCode === 0) return exitCodes.done;
  const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
  // `rosterd` alone prints the help, but must fail: a script may have lost its command.
  if (error.code === 'commander.help')
    out.error(`no command was given${command === undefined ? '' : ` after ${command}`}`);
  else out.error(message);
  if (error.code === 'commander.help') return exitCodes.usage;
  const meant = /\((Did you mean .+\?)\)/.exec(suggestion.join(' '))?.[1];
  out.note(meant ?? `Try: rosterd ${command === undefined ? '' : `${command} `}--help`);
  return exitCodes.usage;
}

function namedIn(args: readonly string[], commands: readonly Command[]): string | undefined {
  const [first = '', second = ''] = args;
  const names = commands.map(({ name }) => name);
  const both = `${first} ${second}`;
  if (names.includes(both)) return both;
  return names.some((name) => name === first || name.startsWith(`${first} `)) ? first : undefined;
}

/**
 * Rewrites `help config show` to `config show --help`; commander's help command reads only one word. Puts a space before a
 * query that begins with a comment, `-- by status` and a line break: commander would read it as an option.
 */
function spelledOut(args: readonly string[]): string[] {
  if (args[0] === 'query') return args.map((arg) => (/^--\s/.test(arg) ? ` ${arg}` : arg));
  return args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : [...args];
}

/** Returns false for a misspelt command: commander would then print the help of all commands instead of an error. */
function isKnown([first = '', second = '']: readonly string[], commands: readonly Command[]): boolean {
  if (first === '' || first === 'help' || first.startsWith('-')) return true;
  const names = commands.map(({ name }) => name);
  if (names.includes(first) || names.includes(`${first} ${second}`)) return true;
  const isGroup = names.some((name) => name.startsWith(`${first} `));
  return isGroup && (second === '' || second.startsWith('-'));
}

function isDebugging(args: readonly string[]): boolean {
  return args.some(
    (arg, at) => arg === '--log-level=debug' || (arg === '--log-level' && args[at + 1] === 'debug'),
  );
}
