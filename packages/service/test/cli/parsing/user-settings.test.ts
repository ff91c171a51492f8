import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../../../test/temporary-folder.js'
import { transcribeFlags } from '../../../src/cli/commands/transcribe.js'
import { flagName, readFlags, type TypedFlags } from '../../../src/cli/parsing/flags.js'
import { settingSources, userSettings, withSettings } from '../../../src/cli/parsing/user-settings.js'
import { userFile, userModels } from '../../../src/cli/process/user-folders.js'

const home = temporaryFolder()
const config = join(home, '.config/rxspeech')
mkdirSync(config, { recursive: true })

interface Sources {
  readonly typed?: TypedFlags
  readonly env?: Readonly<Record<string, string>>
  readonly file?: string
}

/** The settings that `transcribe` gets. */
const resolve = async ({ typed = {}, env = {}, file = '' }: Sources) => {
  writeFileSync(join(config, 'config.yaml'), file)
  const stderr = new PassThrough().setEncoding('utf8')
  const host = { env: { HOME: home, ...env }, stderr: stderr as unknown as NodeJS.WriteStream }
  const { values, nameOf } = await settingSources(host)
    .then((sources) => withSettings(transcribeFlags, typed, sources))
    .catch((error: unknown) => {
      throw new Error(String(stderr.read()), { cause: error })
    })
  const settings = userSettings.flatMap(({ name }) => (values[name] === undefined ? [] : [[name, values[name]]]))
  return { settings: Object.fromEntries(settings) as TypedFlags, values, nameOf }
}

describe('the settings of a user', () => {
  it('come from flags, then variables, then the file', async () => {
    const file = 'model: of-file\nlanguage: fr\ntenant: T'
    const env = { RXSPEECH_MODEL: 'of-variable', RXSPEECH_LANGUAGE: '' }
    const { settings, nameOf } = await resolve({ typed: { tenant: 'typed' }, env, file })
    expect(settings).toEqual({ model: 'of-variable', language: 'fr', tenant: 'typed' })
    expect(['tenant', 'model', 'language'].map(nameOf)).toEqual([
      '--tenant',
      'RXSPEECH_MODEL',
      `${join(config, 'config.yaml')}: language`,
    ])
  })

  it('name their file if it cannot be read', async () => {
    const folder = join(home, 'other/rxspeech/config.yaml')
    mkdirSync(folder, { recursive: true })
    const message = `${folder} cannot be read; check the path and its rights.`
    await expect(resolve({ env: { XDG_CONFIG_HOME: join(home, 'other') } })).rejects.toMatchObject({
      cause: { code: 'invalid-options', message },
    })
  })

  it('have paths from the folder of the file and from the home folder', async () => {
    const { settings } = await resolve({ file: 'models: [here, ~/there, /abs]' })
    expect(settings).toEqual({ models: [join(config, 'here'), join(home, 'there'), '/abs'] })
    expect((await resolve({ env: { RXSPEECH_MODELS: 'a:/b:' } })).settings).toEqual({ models: ['a', '/b'] })
  })

  it.each<[string, Sources, TypedFlags]>([
    [
      'an address takes the place of the models of the same source',
      { env: { RXSPEECH_GRPC: 'h', RXSPEECH_MODELS: 'm' } },
      { grpc: 'h' },
    ],
    [
      'models that are typed take the place of a service and all about it',
      { typed: { models: ['m'] }, env: { RXSPEECH_ACCESS: 'a', RXSPEECH_MODEL: 'x', RXSPEECH_LANGUAGE: 'de' } },
      { models: ['m'], language: 'de' },
    ],
    [
      'the client of one service is not sent to another',
      { typed: { grpc: 'other' }, file: 'grpc: h\nauthUrl: https://h\nclientId: acme\nca: ca.pem' },
      { grpc: 'other' },
    ],
    [
      'a variable completes the file',
      { typed: { clientId: 'me' }, env: { RXSPEECH_MODEL: 'x' }, file: 'grpc: h\nauthUrl: https://h\nclientId: acme' },
      { clientId: 'me', model: 'x', grpc: 'h', authUrl: 'https://h' },
    ],
  ])('agree with each other: %s', async (_what, sources, expected) => {
    expect((await resolve(sources)).settings).toEqual(expected)
  })

  it('are refused by the name of their source', async () => {
    const { values, nameOf } = await resolve({ env: { RXSPEECH_URL: 'https://h' } })
    expect(() => readFlags(transcribeFlags, values, nameOf)).toThrow('RXSPEECH_URL must be an address such as wss://')
  })

  it.each([
    ['mdoel: x', '1:1: mdoel: there is no such key; did you mean model?'],
    ['model: x\nclientSecret: s3cret', '2:1: clientSecret: there is no such key; '],
    ['models: one', '1:1: models: expected a list'],
  ])('of a file %j are refused with their place', async (file, sentence) => {
    await expect(resolve({ file })).rejects.toThrow(sentence)
  })

  it('have a flag, a key and a variable each, from one declaration', () => {
    const table = userSettings.map(({ name, variable }) => `${flagName(name)} ${variable}`)
    expect(table).toContain('--auth-url RXSPEECH_AUTH_URL')
    expect(table).toContain('--access RXSPEECH_ACCESS')
  })
})

describe('the folders of a user', () => {
  it.each([
    ['linux', { HOME: '/h' }, '/h/.config/rxspeech/config.yaml', '/h/.local/share/rxspeech/models'],
    ['linux', { HOME: '/h', XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: 'relative' }, '/c/rxspeech/config.yaml', undefined],
    ['linux', {}, undefined, undefined],
    ['win32', { APPDATA: '/r', LOCALAPPDATA: '/l', HOME: '/h' }, '/r/rxspeech/config.yaml', '/l/rxspeech/models'],
  ] as const)('on %s with %j are %s and %s', (platform, env, file, models) => {
    expect(userFile(env, platform)).toBe(file)
    expect(userModels(env, platform)).toBe(models ?? ('HOME' in env ? '/h/.local/share/rxspeech/models' : undefined))
  })
})
