// Tests that requests accept exactly the existing scopes.
import { expect, test } from 'vitest';
import { ApiKeySpecSchema } from '../../../gen/sonant/v1/api_key_pb.ts';
import { scopes } from '../../../src/accounts/keys/scopes.ts';
import { fieldOf, rulesOf } from '../../../src/contract/schema.ts';

test('the rule of the contract has them all', () => {
  const { type } = rulesOf(fieldOf(ApiKeySpecSchema, 'scopes'));
  const items = type.case === 'repeated' ? type.value.items?.type : undefined;
  expect(items?.case === 'string' && items.value.in).toEqual(scopes);
});
