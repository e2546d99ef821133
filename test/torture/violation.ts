/** A broken guarantee; anything else a round throws is a fault of the torture test itself. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
