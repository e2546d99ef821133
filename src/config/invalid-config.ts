import { Fault } from '../domain/fault.js';

/** One problem of the configuration, with enough detail to fix it. */
export interface Problem {
  readonly path: string;
  /** `config.json:12:5`, `env ROSTERD_…` or `flag --…`. */
  readonly where: string;
  readonly message: string;
  readonly hint?: string;
}

/** Reports all problems of a configuration at once. */
export class InvalidConfig extends Fault {
  constructor(
    readonly problems: readonly Problem[],
    hint = 'fix these and run `rosterd config validate`',
  ) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super('usage', `the configuration has ${count}:\n${problems.map(problemText).join('\n')}`, { hint });
    this.name = 'InvalidConfig';
  }
}

function problemText(problem: Problem): string {
  // A program's object has no position in a file, and the object itself no path.
  const subject = [problem.where, problem.path].filter((part) => part !== '').join(' ') || 'config';
  const text = `  ${subject}: ${problem.message}`;
  return problem.hint === undefined ? text : `${text}\n    ${problem.hint}`;
}
