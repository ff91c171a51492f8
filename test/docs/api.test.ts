import { describe, expect, it } from 'vitest'
import { entryPoints } from '../../scripts/dependency-rules.mjs'
import typedoc from '../../scripts/typedoc.json'
import { publicNames } from './public-names.js'

const names = publicNames()

it('has a page for each entry point in the API reference', () => {
  expect(typedoc.entryPoints).toEqual(entryPoints.map((file) => `../${file}`))
})

describe('the public names', () => {
  it('of rxspeech are at most 66 values', () => {
    const values = names.filter(({ entryPoint, isValue }) => isValue && !entryPoint.startsWith('rxspeech-'))
    expect(values.length).toBeGreaterThan(40)
    expect(values.length).toBeLessThanOrEqual(66)
  })

  it('have a docstring', () => {
    expect(names.length).toBeGreaterThan(200)
    expect(names.filter(({ docstring }) => docstring === '').map(({ place, name }) => `${place} ${name}`)).toEqual([])
  })

  it('have members with a docstring, except for tags of one value', () => {
    const missing = names.flatMap(({ place, name, members }) =>
      members
        .filter(({ docstring, isLiteral }) => docstring === '' && !isLiteral)
        .map((member) => `${place} ${name}.${member.name}`),
    )
    expect([...new Set(missing)]).toEqual([])
  })

  it('state the default of each optional member of options with @default', () => {
    const untagged = names
      .filter(({ name }) => /Options$|Limits$|Behavior$/.test(name))
      .flatMap(({ place, name, members }) =>
        members
          .filter(({ isOptional, hasDefault }) => isOptional && !hasDefault)
          .map((member) => `${place} ${name}.${member.name}`),
      )
    expect([...new Set(untagged)]).toEqual([])
  })

  it('state no default in a sentence', () => {
    const untagged = names.flatMap(({ place, name, members }) =>
      members
        .filter(({ docstring, isOptional, hasDefault }) => isOptional && !hasDefault && /\bdefault/i.test(docstring))
        .map((member) => `${place} ${name}.${member.name}`),
    )
    expect([...new Set(untagged)]).toEqual([])
  })

  it('have an @example if they are functions, classes or constants; the test of README.md compiles them', () => {
    const missing = names.filter(({ isValue, examples }) => isValue && examples.length === 0)
    expect(missing.map(({ place, name }) => `${place} ${name}`)).toEqual([])
  })
})
