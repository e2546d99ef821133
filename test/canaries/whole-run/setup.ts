import { vi } from 'vitest';
import type { Io } from '../../../src/cli/io.js';
import type { LoggingOptions } from '../../../src/daemon/logging.js';

/*
 * Runs every test at debug level and records its output, together with every invented person and every issued
 * secret. The tests themselves see no difference.
 */

vi.mock('../../../src/runtime/logger.js', async (original) => {
  const { listening } = await import('./listening.js');
  return { ...(await original<object>()), silentLogger: listening };
});

vi.mock('node:child_process', async (original) => {
  const { heardProcesses } = await import('./children.js');
  return heardProcesses(await original<typeof import('node:child_process')>());
});

vi.mock('../../../src/daemon/logging.js', async (original) => {
  const { heard } = await import('./listening.js');
  const real = await original<typeof import('../../../src/daemon/logging.js')>();
  return { ...real, createLogger: (options: LoggingOptions) => heard(real.createLogger(options)) };
});

vi.mock('../../../src/domain/fault.js', async (original) => {
  const { record } = await import('./record.js');
  const real = await original<typeof import('../../../src/domain/fault.js')>();
  class Fault extends real.Fault {
    constructor(...given: ConstructorParameters<typeof real.Fault>) {
      super(...given);
      record.said('error', `${this.message} ${this.about.hint ?? ''} ${this.about.type ?? ''}`);
    }
  }
  return { ...real, Fault };
});

vi.mock('../../../src/cli/run.js', async (original) => {
  const { record } = await import('./record.js');
  const real = await original<typeof import('../../../src/cli/run.js')>();
  return {
    ...real,
    run: (args: readonly string[], io: Io, ...more: never[]) => {
      const write = io.stderr.write.bind(io.stderr);
      const heard = (chunk: string, ...rest: never[]) => {
        record.said('words', chunk);
        return write(chunk, ...rest);
      };
      return real.run(args, { ...io, stderr: Object.assign(io.stderr, { write: heard }) }, ...more);
    },
  };
});

vi.mock('../../../src/platform/sandbox/seed/people.js', async (original) => {
  const { record } = await import('./record.js');
  const real = await original<typeof import('../../../src/platform/sandbox/seed/people.js')>();
  return {
    ...real,
    inventPerson: (...given: Parameters<typeof real.inventPerson>) => {
      const person = real.inventPerson(...given);
      record.known('name', person.name);
      record.known('legal name', person.legalName);
      record.known('email', person.email);
      record.known('bio', person.bio);
      if (person.address !== null) record.known('address', JSON.parse(person.address).line);
      return person;
    },
  };
});

vi.mock('../../../src/platform/state/secrets.js', async (original) => {
  const { record } = await import('./record.js');
  const real = await original<typeof import('../../../src/platform/state/secrets.js')>();
  return {
    ...real,
    newSecret: (...given: Parameters<typeof real.newSecret>) => {
      const secret = real.newSecret(...given);
      record.known('secret', secret);
      return secret;
    },
  };
});
