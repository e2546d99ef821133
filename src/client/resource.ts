import { Fault } from '../domain/fault.js';
import { withArticle } from '../domain/with-article.js';

/** Readers for the small resources, where clear error messages matter more than speed. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export interface Resource {
  readonly id: string;
  readonly attributes: Fields;
}

export function resourceOf(value: unknown, type: string): Resource {
  const { id, attributes } = fieldsOf(value);
  if (typeof id !== 'string' || id === '') throw brokenResource(type, 'id');
  return { id, attributes: fieldsOf(attributes) };
}

/** Returns the resource if it is the requested one. A mixed-up answer must not be used: it has other secrets and states. */
export function sameAs<One extends { readonly id: string }>(requested: string, one: One, type: string): One {
  if (one.id !== requested) throw brokenResource(type, 'id');
  return one;
}

export function listOf(body: unknown, type: string): readonly unknown[] {
  const { data } = fieldsOf(body);
  if (!Array.isArray(data)) throw brokenResource(type, 'data');
  return data;
}

export function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

export function textOrNullIn(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' ? value : null;
}

export function textsIn(fields: Fields, name: string): readonly string[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

export function brokenResource(type: string, field: string): Fault {
  return new Fault('contract_broken', `a response with ${withArticle(type)} has no usable \`${field}\``);
}
