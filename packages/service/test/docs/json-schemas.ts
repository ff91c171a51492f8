import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'

export type Json = Readonly<Record<string, unknown>>

/** A description of an interface, `docs/<name>`. */
export const description = (name: string): Json =>
  parse(readFileSync(join(__dirname, '../../../../docs', name), 'utf8')) as Json

/** A value of a document by its keys. */
export const at = (value: unknown, ...keys: readonly string[]): Json =>
  keys.reduce<unknown>((inner, key) => (inner as Json)[key], value) as Json

/** Validators of a document's schemas, by pointers such as `#/components/schemas/digits`. */
export const validators = (document: Json): ((pointer: string) => ValidateFunction) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ $id: 'urn:rxspeech:document', ...document })
  return (pointer) => ajv.compile({ $ref: `urn:rxspeech:document${pointer}` })
}

/** What the schema of OpenAPI has against a document. */
export const faultsBy = (schema: object, document: Json): unknown => {
  const ajv = new Ajv2020({ strict: false })
  // The test is about the structure.
  for (const format of ['uri', 'uri-reference', 'email', 'regex', 'media-range']) ajv.addFormat(format, true)
  const validate = ajv.compile(schema)
  return validate(document) ? undefined : validate.errors
}
