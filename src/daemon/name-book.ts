import type { Names } from '../dimensions/ports.js';
import type { SourceName } from '../domain/ids.js';
import type { NamesOf } from '../outbox/decide-notices.js';

/** The names of companies and rounds in memory, so that drafting a notice costs a commit no statement. */
export class NameBook {
  readonly #names = new Map<string, Names>();

  readonly learn = (source: SourceName, names: Names): void => {
    this.#names.set(source, names);
  };

  forget(source: SourceName): void {
    this.#names.delete(source);
  }

  readonly of: NamesOf = ({ source, companyId, offeringId }) => {
    const names = this.#names.get(source);
    return {
      company: names?.companies.get(companyId ?? '') ?? null,
      round: names?.rounds.get(offeringId ?? '') ?? null,
    };
  };
}
