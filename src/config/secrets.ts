import { type ExecFileException, execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { inspect } from 'node:util';
import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import { descriptorsFault } from '../runtime/file-descriptors.js';
import { readNamedFile } from '../runtime/named-file.js';

export type SecretReference =
  | string
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/** What reading a secret needs: the environment, and the folder its command runs in. */
export interface SecretSurroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
}

/** Long enough for a password manager that calls its server, short enough to notice one that prompts a person. */
const commandMillisMax = 10_000;
const bytesMax = 64 * 1024;

/**
 * A reference to a secret. The value is read at each use, so that a rotated file or command takes effect without a
 * restart. Printing it shows where the secret comes from, never its value.
 */
export class Secret {
  readonly #reference: SecretReference;
  readonly #surroundings: SecretSurroundings;

  /** `name` is the option, for error messages. */
  constructor(
    readonly name: string,
    reference: SecretReference,
    surroundings: SecretSurroundings,
  ) {
    this.#reference = reference;
    this.#surroundings = surroundings;
  }

  /** The file that contains the secret, or null for another kind of reference. */
  get file(): string | null {
    const reference = this.#reference;
    return typeof reference === 'object' && 'file' in reference ? reference.file : null;
  }

  /** The environment variable that contains the secret, or null for another kind of reference. */
  get variable(): string | null {
    const reference = this.#reference;
    return typeof reference === 'object' && 'env' in reference ? reference.env : null;
  }

  /** Whether reading it runs a command, which may prompt a person. */
  get runsCommand(): boolean {
    return typeof this.#reference === 'object' && 'command' in this.#reference;
  }

  /** Where the secret comes from, for messages. */
  get origin(): string {
    return originOf(this.#reference);
  }

  /**
   * Returns the value. Throws `usage` when it cannot be read or is empty, `database_busy` when the disk fails, and
   * `unreachable` when a command fails.
   */
  async reveal(): Promise<string> {
    const reference = this.#reference;
    if (typeof reference === 'string') return reference;
    if ('env' in reference) return this.#fromEnvironment(reference.env);
    if ('file' in reference) return this.#fromFile(reference.file);
    return this.#fromCommand(reference.command);
  }

  /** Throws `usage` when the secret cannot be read. Does not run a command, because it may prompt a person. */
  async check(): Promise<void> {
    if (this.runsCommand) return;
    await this.reveal();
  }

  toString(): string {
    return `(secret, ${this.origin})`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }

  #fromEnvironment(variable: string): string {
    const value = this.#surroundings.env[variable]?.trim();
    if (value === undefined || value === '') {
      throw new Fault(
        'usage',
        `${this.name}: the environment variable ${variable} is ${value === '' ? 'empty' : 'not set'}`,
        {
          hint: `export ${variable}=…, or keep the secret in a file: {"file": "path"}`,
        },
      );
    }
    return value;
  }

  async #fromFile(file: string): Promise<string> {
    let text: string;
    try {
      // Windows has no mode bits: there the permissions of the folder apply.
      const ownUser = process.geteuid?.();
      const stats = statSync(file);
      if (stats.isDirectory())
        throw new Fault('usage', `${this.name}: ${file} is a folder`, { hint: 'name the file in it' });
      if (ownUser !== undefined && isOpenToOthers(stats, ownUser)) {
        throw new Fault('usage', `${this.name}: others on this machine can read ${file}`, {
          hint: `chmod 600 ${shellWord(file)}`,
        });
      }
      text = readNamedFile(file, `${this.name}: ${file}`).trim();
    } catch (error) {
      if (error instanceof Fault) throw error;
      const hint =
        systemCode(error) === 'EACCES'
          ? `run it as the owner of the file, or make this user the owner: ls -l ${shellWord(file)}`
          : 'check the path; relative paths start at the folder of the configuration file';
      // Loaded here, because most commands read no secret, or one that is there.
      const { unreadable } = await import('../runtime/unwritable.js');
      throw unreadable(`${this.name}: ${file}`, error, hint);
    }
    if (text === '')
      throw new Fault('usage', `${this.name}: ${file} is empty`, {
        hint: 'write the secret into it, and nothing else',
      });
    return text;
  }

  /**
   * Runs the command without a shell. Its stdout and stderr are never shown: both may contain the secret. The secret store
   * that it asks may be away for a while, so a failure is retried; lasting, because the command may prompt a person.
   */
  #fromCommand(command: readonly string[]): Promise<string> {
    const [program = '', ...args] = command;
    const options = {
      cwd: this.#surroundings.folder,
      env: this.#surroundings.env,
      timeout: commandMillisMax,
      killSignal: 'SIGKILL' as const,
      maxBuffer: bytesMax,
      encoding: 'utf8' as const,
    };
    const failed = (why: string, isBrief = true) =>
      new Fault(isBrief ? 'unreachable' : 'usage', `${this.name}: the command ${program} ${why}`, {
        hint: 'run it as the user of the daemon; it must print the secret and nothing else',
        lasting: true,
      });
    // The error is not the cause of the fault: its message quotes stderr.
    const notRun = (error: unknown) => {
      const code = systemCode(error);
      return descriptorsFault(error) ?? failed(`could not be run (${code})`, briefCodes.has(code));
    };
    return new Promise((resolve, reject) => {
      const ended = (error: ExecFileException | null, stdout: string) => {
        const value = stdout.trim();
        if (error === null) return value === '' ? reject(failed('printed nothing')) : resolve(value);
        if (error.killed === true)
          return reject(failed(`did not finish within ${commandMillisMax / 1000} s`));
        if (typeof error.code === 'number') return reject(failed(`ended with code ${error.code}`));
        // As the kernel does when there is no memory, or an operator.
        if (typeof error.signal === 'string') return reject(failed(`was killed by ${error.signal}`));
        reject(isTooLong(error) ? failed(`printed more than ${bytesMax / 1024} KB`, false) : notRun(error));
      };
      try {
        execFile(program, args, options, ended).stdin?.end();
      } catch (error) {
        // Node throws some reasons, such as a lack of memory, and passes on the others.
        reject(notRun(error));
      }
    });
  }
}

const isTooLong = (error: unknown): boolean => systemCode(error) === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER';

/** Reasons why a program that is there cannot be run at the moment. */
const briefCodes: ReadonlySet<string> = new Set(['EAGAIN', 'ENOMEM', 'ETXTBSY']);

/**
 * Returns whether users other than the daemon's may read or write a secret file. A file of the daemon's own user must
 * have no permissions for group or others. A file of root may also be readable by its group: systemd credentials,
 * Kubernetes' `fsGroup` and `chown root:rosterd` pass secrets to a service this way. PostgreSQL applies the same rule
 * to its private key.
 */
export function isOpenToOthers(
  { mode, uid }: { readonly mode: number; readonly uid: number },
  ownUser: number,
): boolean {
  const ofRootForUs = uid === 0 && ownUser !== 0;
  return (mode & (ofRootForUs ? 0o037 : 0o077)) !== 0;
}

function originOf(reference: SecretReference): string {
  if (typeof reference === 'string') return 'written out';
  if ('env' in reference) return `from env ${reference.env}`;
  if ('file' in reference) return `from file ${reference.file}`;
  return `from command ${reference.command[0] ?? ''}`;
}

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
}
