import type { Chance } from './chance.js';

const idShape = /^(?:[a-z]{2,5}|evt_test|pk_test|pk_live)_[0-9A-Za-z]{6,}$/;

/** Id prefixes by the last word of a field's name. */
const prefixes: Readonly<Record<string, readonly string[]>> = {
  client: ['pk_'],
  company: ['co_'],
  offering: ['ofr_'],
  spv: ['ofr_'],
  syndicate: ['syn_'],
  user: ['usr_'],
  member: ['mem_'],
  installation: ['inst_'],
  target: ['co_', 'syn_', 'cmt_'],
  resource: ['co_', 'syn_'],
  investor: ['usr_'],
};

/**
 * What responses have revealed so far: ids by prefix, cursors, and locations (`/syndicates/syn_1/members/mem_2`
 * from a listing of `/syndicates/syn_1/members`). With them, requests reach real records without knowing the
 * seeded data.
 */
export class Known {
  readonly #ids = new Map<string, string[]>();
  readonly #cursors: string[] = [];
  readonly #places = new Map<string, string[]>();
  readonly #all: string[] = [];
  /** The templates of pages, by the shape of their paths: responses contain links to them. */
  readonly #pages: readonly (readonly [RegExp, string])[];

  constructor(templates: readonly string[]) {
    this.#pages = templates
      .filter((template) => template.endsWith('}'))
      .map((template) => [new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`), template]);
  }

  /** An opened page: its cookie and the token of its form, both required to submit it. */
  visit: { readonly cookie: string; readonly csrf: string } | null = null;

  visited(setCookie: string | null, page: unknown): void {
    const csrf = /name="csrf" value="([^"]+)"/.exec(typeof page === 'string' ? page : '')?.[1];
    const cookie = setCookie?.split(';')[0] ?? this.visit?.cookie;
    if (cookie !== undefined) this.visit = { cookie, csrf: csrf ?? this.visit?.csrf ?? '' };
  }

  /** Learns from the response to `path`, which is `template` with its parameters filled in. */
  learn(template: string, path: string, body: unknown): void {
    this.#gather(body);
    const data = (body as { data?: unknown } | null)?.data;
    const items = Array.isArray(data) ? data : [data];
    if (template.endsWith('}')) return;
    for (const item of items) {
      const id = (item as { id?: unknown } | null)?.id;
      if (typeof id === 'string') this.#place(`${template}/{}`, `${path}/${id}`);
    }
    const cursor = (body as { meta?: { next_cursor?: unknown } } | null)?.meta?.next_cursor;
    if (typeof cursor === 'string') remember(this.#cursors, cursor);
  }

  /**
   * Fills in the parameters of a path: from a location seen before where possible, otherwise with ids that fit by
   * name.
   */
  path(chance: Chance, template: string, other: (name: string) => string | null): string {
    const names = [...template.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
    const last = template.lastIndexOf('}');
    const stem = template.slice(0, last + 1).replaceAll(/\{[^}]+\}/g, '{}');
    const seen = this.#places.get(stem);
    const strange = names.map(other);
    if (seen !== undefined && strange.every((value) => value === null) && chance.happens(0.9)) {
      return chance.pick(seen) + template.slice(last + 1);
    }
    return template.replaceAll(/(\/[^/{]+)\/\{([^}]+)\}/g, (_whole, before: string, name: string) => {
      const value = strange[names.indexOf(name)];
      return `${before}/${value ?? encodeURIComponent(this.id(chance, /^(?:id|external_id)$/.test(name) ? before.slice(1) : name))}`;
    });
  }

  id(chance: Chance, name: string): string {
    const word = name
      .replace(/_ids?$/, '')
      .replace(/ies$/, 'y')
      .replace(/s$/, '');
    const fitting = (prefixes[word.split('_').at(-1) ?? ''] ?? []).flatMap(
      (prefix) => this.#ids.get(prefix) ?? [],
    );
    const from = fitting.length > 0 && chance.happens(0.9) ? fitting : this.#all;
    return from.length === 0 ? 'co_unknown' : chance.pick(from);
  }

  cursor(chance: Chance): string | null {
    return this.#cursors.length === 0 ? null : chance.pick(this.#cursors);
  }

  copy(): Known {
    const copy = new Known(this.#pages.map(([, template]) => template));
    for (const [prefix, ids] of this.#ids) copy.#ids.set(prefix, [...ids]);
    for (const [stem, places] of this.#places) copy.#places.set(stem, [...places]);
    copy.#cursors.push(...this.#cursors);
    copy.#all.push(...this.#all);
    return copy;
  }

  #gather(value: unknown): void {
    if (typeof value === 'string' && idShape.test(value)) {
      const prefix = value.slice(0, value.indexOf('_') + 1);
      const ids = this.#ids.get(prefix) ?? [];
      this.#ids.set(prefix, ids);
      if (remember(ids, value)) remember(this.#all, value);
    } else if (typeof value === 'string' && value.startsWith('http://127.0.0.1:') && URL.canParse(value)) {
      const { pathname } = new URL(value);
      for (const [shape, template] of this.#pages) if (shape.test(pathname)) this.#place(template, pathname);
    } else if (typeof value === 'object' && value !== null) {
      for (const held of Object.values(value)) this.#gather(held);
    }
  }

  #place(stem: string, path: string): void {
    const key = stem.replaceAll(/\{[^}]+\}/g, '{}');
    const places = this.#places.get(key) ?? [];
    this.#places.set(key, places);
    remember(places, path);
  }
}

/** More than a generator can use; a long run must not grow without bound. */
const heldMax = 200;

function remember(list: string[], value: string): boolean {
  if (list.length >= heldMax || list.includes(value)) return false;
  list.push(value);
  return true;
}
