import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'

export type Json = Readonly<Record<string, unknown>>

/** A description of an interface, `docs/<name>`. */
export const description = (name: string): Json =>
  parse(readFileSync(join(__dirname, '../../docs', name), 'utf8')) as Json

/** A value of a document by its keys. */
export const at = (value: unknown, ...keys: readonly string[]): Json =>
  keys.reduce<unknown>((inner, key) => (inner as Json)[key], value) as Json

/** Validators of a document's schemas, by pointers such as `#/components/schemas/digits`. */
export const validators = (document: Json): ((pointer: string) => ValidateFunction) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'urn:rxspeech:document', ...document })
  return (pointer) => ajv.compile({ $ref: `urn:rxspeech:document${pointer}` })
}

/** What the standard's own schema has against a document; AsyncAPI's is of draft 7, OpenAPI's of 2020-12. */
export const faultsBy = (schema: object, document: Json, draft: '7' | '2020'): unknown => {
  const ajv = draft === '7' ? new Ajv({ strict: false }) : new Ajv2020({ strict: false })
  // These formats are for who fills in a form; the tests are about the shape.
  for (const format of ['uri', 'uri-reference', 'email', 'regex', 'media-range']) ajv.addFormat(format, true)
  const validate = ajv.compile(schema)
  return validate(document) ? undefined : validate.errors
}
