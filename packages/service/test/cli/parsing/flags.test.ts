import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  addFlags,
  flag,
  flagGroup,
  flagOr,
  readFlags,
  repeatedFlag,
  repeatedFlagOr,
  switchFlag,
  withNegation,
} from '../../../src/cli/parsing/flags.js'
import { text, wholeNumber } from '../../../src/cli/parsing/values.js'

const port = wholeNumber({ min: 1, max: 65_535 })
const flags = {
  authUrl: flag('<url>', 'where tokens come from', text),
  port: flagOr('<n>', 'where to listen', port, '443'),
  ...flagGroup('Models:', {
    models: repeatedFlag('<dir>', 'folders', text),
    tenant: repeatedFlagOr('<name>', 'tenants', text, 'Default'),
  }),
  json: switchFlag('print JSON'),
  proxy: withNegation(flag('<url>', 'a proxy', text), 'no proxy'),
}

const read = (...args: readonly string[]) => {
  const command = new Command('try').exitOverride()
  addFlags(command, flags)
  command.parse(args, { from: 'user' })
  return readFlags(flags, command.opts())
}

describe('the flags of a command', () => {
  it('have their defaults if they are not given', () => {
    expect(read()).toEqual({
      authUrl: undefined,
      port: 443,
      models: [],
      tenant: ['Default'],
      json: false,
      proxy: undefined,
    })
  })

  it('have the values that their parsers return', () => {
    const typed = [
      '--auth-url',
      'https://h',
      '--port',
      '80',
      '--models',
      'a',
      '--models',
      'b',
      '--tenant',
      'T',
      '--json',
    ]
    expect(read(...typed, '--proxy', 'http://p')).toEqual({
      authUrl: 'https://h',
      port: 80,
      models: ['a', 'b'],
      tenant: ['T'],
      json: true,
      proxy: 'http://p',
    })
    expect(read('--no-proxy').proxy).toBe(false)
  })

  it('are rejected by the name that was typed', () => {
    expect(() => read('--auth-url', ' ')).toThrow('--auth-url must not be empty.')
    expect(() => read('--port', '0')).toThrow('--port must be a whole number from 1 to 65535, not "0".')
    expect(() => read('--tenant', 'T', '--tenant', '')).toThrow('--tenant must not be empty.')
  })

  it('are in the help with their defaults, below the title of their group', () => {
    const command = new Command('try')
    addFlags(command, flags)
    const help = command.helpInformation()
    expect(help).toMatch(/--auth-url <url> +where tokens come from\n/)
    expect(help).toMatch(/--port <n> +where to listen \(default: 443\)\n/)
    expect(help).toMatch(/--no-proxy +no proxy\n/)
    expect(help).toMatch(/\nModels:\n +--models <dir> +folders\n +--tenant <name> +tenants \(default: Default\)\n/)
  })
})
