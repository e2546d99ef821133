import { CommanderError } from 'commander';
import { Fault } from '../domain/fault.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import { incompleteInstallation } from '../runtime/incomplete-installation.js';
import { maskCredentials } from '../wire/credential-shapes.js';
import type { Command } from './command.js';
import { allCommands, commandsFor } from './commands-for.js';
import { type ExitCode, exitCodeOfFault, exitCodes } from './exit-codes.js';
import type { Io } from './io.js';
import { nextStep } from './next-step.js';
import { Output } from './output/output.js';
import { Talk } from './output/stderr.js';
import { guarded } from './output/terminal.js';
import { programOf } from './program.js';

/** Parses, runs one command and says how it ended. Whatever goes wrong is told on stderr; nothing is thrown. */
export async function run(
  args: readonly string[],
  process: Io,
  given?: readonly Command[],
): Promise<ExitCode> {
  // The log, notes and progress share one stderr, so that none of them breaks another's line.
  const io: Io = { ...process, stdout: guarded(process.stdout), stderr: new Talk(process.stderr) };
  const out = new Output(io);
  const stop = new AbortController();
  const unlisten = listen(process, out, stop);
  let code: ExitCode = exitCodes.done;
  const words = spelledOut(args);
  let commands: readonly Command[] = given ?? [];
  try {
    // Loading them may fail as well: each is a file of its own.
    if (given === undefined) commands = await commandsFor(words);
    const program = programOf(commands, {
      writeOut: (text) => io.stdout.write(text),
      columns: io.stdout.columns ?? 80,
      run: async (command, operands, options) => {
        code = await command.run({ io, out, args: operands, options, signal: stop.signal, allCommands });
      },
    });
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    // What ended because nobody reads on is nobody's mistake.
    if (stop.signal.reason !== pipeClosed)
      code = report(error, out, { debugging: isDebugging(args), command: namedIn(args, commands) });
  } finally {
    unlisten();
  }
  return stop.signal.reason === pipeClosed ? exitCodes.done : code;
}

/** Nobody reads the rest (`| head`): as good as done. */
const pipeClosed = 'the reader of our output has gone';

/** The first signal asks the command to finish what it is at, the second ends the process. */
function listen(io: Io, out: Output, stop: AbortController): () => void {
  const onSignal = () => {
    if (stop.signal.aborted) return io.quit(exitCodes.stopped);
    stop.abort('signal');
    out.note('finishing what is under way; once more to quit at once');
  };
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return stop.abort(pipeClosed);
    // A result that is cut short must not look whole.
    out.error(`the result could not be written (${error.code ?? 'unknown reason'})`);
    out.note('Try: the same with another place for its output');
    io.quit(exitCodes.failed);
  };
  const ignoreClosed = () => {};
  io.stdout.on('error', onOutputError);
  // With stderr gone there is nobody left to tell.
  io.stderr.on('error', ignoreClosed);
  const offs = [io.onSignal('SIGINT', onSignal), io.onSignal('SIGTERM', onSignal)];
  return () => {
    for (const off of offs) off();
  };
}

interface Asked {
  readonly debugging: boolean;
  /** As far as it could be understood: a command or the first word of several. */
  readonly command: string | undefined;
}

function report(error: unknown, out: Output, { debugging, command }: Asked): ExitCode {
  if (error instanceof CommanderError) return reportUsage(error, command, out);
  const fault = error instanceof Fault ? error : descriptorsFault(error);
  if (fault !== null) {
    out.error(fault.message);
    out.note(`Try: ${fault.about.hint ?? nextStep[fault.code]}`);
    return exitCodeOfFault[fault.code];
  }
  const incomplete = incompleteInstallation(error);
  if (incomplete !== null) {
    out.error(incomplete.message);
    out.note(`Try: ${incomplete.hint}`);
    return exitCodes.failed;
  }
  out.error('rosterd met a state it does not expect; this is a bug, please report it');
  if (debugging)
    out.note(maskCredentials(error instanceof Error ? (error.stack ?? String(error)) : String(error)));
  else out.note('Try: the same with --log-level debug, which adds where it happened');
  return exitCodes.failed;
}

/** Commander ends help and version by throwing; without a command, or half of one, it has shown the help already. */
function reportUsage(error: CommanderError, command: string | undefined, out: Output): ExitCode {
  if (error.exitCode === 0) return exitCodes.done;
  const [message = '', ...suggestion] = error.message.replace(/^error: /, '').split('\n');
  // Whoever types the name alone wants the list, and gets it; a script that lost its command must see a failure.
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

/** `help config show` is `config show --help`; commander's own looks at one word only. */
function spelledOut(args: readonly string[]): string[] {
  return args[0] === 'help' && args.length > 1 ? [...args.slice(1), '--help'] : [...args];
}

function isDebugging(args: readonly string[]): boolean {
  return args.some(
    (arg, at) => arg === '--log-level=debug' || (arg === '--log-level' && args[at + 1] === 'debug'),
  );
}
