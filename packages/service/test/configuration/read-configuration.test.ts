import { readFileSync } from 'node:fs'
import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import { nearestName } from '../../../../src/protocol/nearest-name.js'
import { readConfiguration } from '../../src/configuration/read-configuration.js'

const faultsOf = async (source: string) => {
  const read = await readConfiguration(source)
  return either.isLeft(read)
    ? read.left.map(({ line, column, key, sentence }) => `${line}:${column} ${key}: ${sentence}`)
    : []
}

describe('readConfiguration', () => {
  it('reads the example of the documentation', async () => {
    const read = await readConfiguration(readFileSync('docs/deploy/service.yaml', 'utf8'))
    expect(read).toMatchObject(
      either.right({
        http: { host: '0.0.0.0', port: 8443 },
        limits: { drainMs: 30_000 },
        subscriptions: [{ clientId: 'acme', secret: { env: 'ACME_SECRET' } }],
      }),
    )
  })

  it('accepts an empty file, and one with comments only', async () => {
    expect(await readConfiguration('')).toEqual(either.right({}))
    expect(await readConfiguration('# nothing\nlimits:\n')).toEqual(either.right({ limits: {} }))
  })

  it('reads a number of workers, or auto', async () => {
    expect(await readConfiguration('workers: 3')).toEqual(either.right({ workers: 3 }))
    expect(await readConfiguration('workers: auto')).toEqual(either.right({ workers: 'auto' }))
    for (const value of ['0', '257', '1.5', 'many', '"2"']) {
      expect(await faultsOf(`workers: ${value}`)).toEqual([
        '1:1 workers: expected a whole number from 1 to 256, or auto',
      ])
    }
  })

  it('reports every fault at once, with its position and its path', async () => {
    const source = [
      'http: everywhere',
      'htp: 127.0.0.1:0',
      'limits:',
      '  sesions: 3',
      '  maxSessionMs: 4 h',
      'subscriptions:',
      '  - clientId: acme',
      '    secret: hunter2-hunter2-hunter2',
      '  - secret: { env: S }',
      '  - { clientId: brief, secret: { env: S }, tokenLifetimeSeconds: 59 }',
    ].join('\n')
    expect(await faultsOf(source)).toEqual([
      '1:1 http: expected HOST:PORT, such as 127.0.0.1:8443 or "[::]:8443"',
      '2:1 htp: there is no such key; did you mean http?',
      '4:3 limits.sesions: there is no such key; did you mean sessions?',
      '5:3 limits.maxSessionMs: expected a whole number from 1 to 2147483647',
      '8:5 subscriptions.0.secret: expected {env: NAME} or {file: PATH}; never the secret itself',
      '9:5 subscriptions.1: clientId is missing',
      '10:44 subscriptions.2.tokenLifetimeSeconds: expected a whole number from 60 to 31536000',
    ])
  })

  it('reports a conflict at the key that causes it', async () => {
    const source = [
      'limits: { sessions: 3 }',
      'grpc: 0.0.0.0:8444',
      'tls:',
      '  # without its certificate',
      '  keyFile: key.pem',
      'nodes:',
      '  - file: a.mjs',
      '  - { file: b.mjs, package: b }',
      '  - run: inline',
    ].join('\n')
    expect(await faultsOf(source)).toEqual([
      '2:1 grpc: listening on 0.0.0.0 needs tls; plain text is for loopback only',
      '5:3 tls.keyFile: certificateFile and keyFile belong together; set both',
      '8:5 nodes.1: must have either file or package',
      '9:5 nodes.2: must have either file or package',
    ])
    expect(await faultsOf('operations: 0.0.0.0:1')).toEqual([
      '1:1 operations: listening on 0.0.0.0 needs tls; plain text is for loopback only',
    ])
    expect((await faultsOf('{ nodes: [{}], http: 0.0.0.0:1 }')).map((fault) => fault.split(': ')[0])).toEqual([
      '1:11 nodes.0',
      '1:16 http',
    ])
    expect(await faultsOf('http: 0.0.0.0:1\ntls: { certificateFile: c, keyFile: k }')).toEqual([])
    expect(await faultsOf(`identity: { keysFile: k, rotateKeysAfterMs: ${90 * 86_400_000} }`)).toEqual([
      '1:13 identity.keysFile: needs identity.issuer, the address of the balancer; otherwise machines refuse the tokens of each other',
      '1:26 identity.rotateKeysAfterMs: has no effect with keysFile, whose keys rxspeech keys rotate --file creates; omit one of both',
    ])
    expect(await faultsOf('identity: { keysFile: k, issuer: "https://speech.example.com" }')).toEqual([])
  })

  it('never repeats a value in the place of a secret', async () => {
    expect((await faultsOf('subscriptions: [{clientId: a, secret: hunter2}]')).join()).not.toContain('hunter2')
  })

  it.each([
    ['not YAML', 'http: [', /^1:\d+ : this is not YAML/],
    [
      'a key that is given twice',
      'http: 127.0.0.1:0\nhttp: 127.0.0.1:1',
      /^2:1 : this is not YAML: Map keys must be unique/,
    ],
    ['a list in place of keys', '- http', /expected keys with values/],
    ['a prototype for a key', '__proto__: {a: 1}', /__proto__: there is no such key/],
  ])('rejects %s', async (_what, source, fault) => {
    expect(await faultsOf(source)).toEqual([expect.stringMatching(fault)])
  })

  it.each([
    ['60,000 unknown keys', Array.from({ length: 60_000 }, (_none, at) => `key${at}: 1`).join('\n')],
    ['100,000 items', `tenants: [${'5,'.repeat(100_000)}]`],
    ['300,000 quotes', '"'.repeat(300_000)],
    ['100,000 lists in each other', '['.repeat(100_000)],
  ])('rejects %s quickly', async (_what, source) => {
    await readConfiguration('')
    const from = performance.now()
    expect(await faultsOf(source)).toEqual([
      '1:1 : the file has more than 20000 lines, items, keys and quotes together',
    ])
    expect(performance.now() - from).toBeLessThan(5_000)
  })

  it.each([
    ['keys that are not known', (at: number) => `key${at}: 1`],
    ['keys that are given twice', () => 'http: x'],
  ])('reports the first 50 of 9,000 %s, and the number of the others', async (_what, line) => {
    const faults = await faultsOf(Array.from({ length: 9_000 }, (_none, at) => line(at)).join('\n'))
    expect(faults).toHaveLength(51)
    expect(faults[0]).toMatch(/^[12]:1 /)
    expect(faults.at(-1)).toMatch(/there are 89(49|50) more faults; correct these first$/)
  })

  it('rejects nesting that is deeper than the parser can follow', async () => {
    expect((await faultsOf('['.repeat(19_000))).at(-1)).toMatch(/nested too deeply|no YAML|more faults/)
  })

  it('rejects aliases that multiply', async () => {
    const bomb = [
      'a: &a [1, 1]',
      ...'bcdefghij'.split('').map((name, at) => `${name}: &${name} [${`*${'abcdefghij'[at] ?? ''}, `.repeat(9)}]`),
    ]
    expect(await faultsOf(bomb.join('\n'))).toEqual([expect.stringContaining('has too many aliases')])
  })
})

describe('nearestName', () => {
  it('suggests a name for a misspelled one, and none if none is similar', () => {
    expect(nearestName('maxsesionms', ['idleMs', 'maxSessionMs'])).toBe('maxSessionMs')
    expect(nearestName('color', ['http', 'grpc'])).toBeUndefined()
  })
})
