import type { Operation } from '../../src/platform/contract/operation.js';
import { featuresOf } from '../../src/platform/features.js';
import { type ApiDocument, describeApi } from '../../src/platform/openapi/document.js';
import { createServices } from '../../src/platform/platform.js';
import { systemClock } from '../../src/runtime/clock.js';
import { type HeaderNames, headerNames } from '../../src/wire/headers.js';

/** Returns every operation of the platform, from all features; the control API is not included. */
export function declaredOperations(): readonly Operation[] {
  const services = createServices();
  try {
    return featuresOf(services, systemClock).flatMap(({ routes }) =>
      routes.map(({ operation }) => operation),
    );
  } finally {
    services.state.close();
  }
}

export const apiDescription = (headers: HeaderNames = headerNames()): ApiDocument =>
  describeApi(declaredOperations(), headers);
