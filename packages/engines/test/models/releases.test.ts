import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { ModelDescription } from '../../src/engine.js'
import {
  compareVersions,
  type ModelRegistry,
  type PreparedModels,
  type Release,
} from '../../src/models/model-registry.js'
import { versionsFor, withReleases, type Releases } from '../../src/models/releases.js'

const calls = { tenant: 'Default', name: 'calls' }
const modelOf = (version: string): ModelDescription => ({ ...calls, version, folder: '', options: { engine: 'any' } })

/** A registry of versions of one model, of this process or of engine processes that serve it. */
const registryOf = (
  versions: readonly string[],
  isServed?: (version: string) => boolean,
  commit = vi.fn(),
): ModelRegistry => {
  const ofCalls = versions.map(modelOf).toSorted((a, b) => compareVersions(a.version, b.version))
  const models = [...ofCalls, ...['1', '2', '7'].map((version) => ({ ...modelOf(version), name: 'other' }))]
  const found: Pick<ModelRegistry, 'find' | 'list'> = {
    find: ({ tenant, name, version = '' }) =>
      models.findLast(
        (model) =>
          `${model.tenant}/${model.name}` === `${tenant}/${name}` && (version === '' || model.version === version),
      ),
    list: () => models,
  }
  return {
    ...found,
    problems: () => [],
    engine: () => Promise.reject(new Error('unused')),
    ...(isServed && { isServed: ({ version }) => isServed(version) }),
    prepareReload: () =>
      Promise.resolve({
        ...found,
        problems: [],
        fingerprint: 'same',
        commit,
        discard: () => undefined,
      } as unknown as PreparedModels),
    close: () => Promise.resolve(),
  }
}

const chosen = (registry: ModelRegistry, session: string, version?: string): readonly string[] =>
  versionsFor(registry, { ...calls, version }, session).map((model) => model.version)

const sessions = Array.from({ length: 2_000 }, (_none, index) => `session ${index}`)

describe('the versions of a model without a release', () => {
  it('are the newest, and of engine processes the older ones that they serve after it', () => {
    expect(chosen(registryOf(['9', '10', '1']), 's')).toEqual(['10'])
    const fleet = registryOf(['9', '10', '1'], (version) => version !== '9')
    expect(chosen(fleet, 's')).toEqual(['10', '1'])
    expect(chosen(fleet, 's', '9')).toEqual(['9'])
    expect(chosen(fleet, 's', '8')).toEqual([])
  })
})

describe('a release', () => {
  const canaryOf = (percent: number): Releases => ({
    'Default/calls': { version: '1', canary: { version: '2', percent } },
  })

  it('gives its version to sessions that name none, and no other one', async () => {
    const pinned = await withReleases(
      registryOf(['1', '2', '3'], () => true),
      {
        read: () => Promise.resolve({ 'Default/calls': { version: '2' } }),
      },
    )
    expect(chosen(pinned, 's')).toEqual(['2'])
    expect(pinned.find(calls)?.version).toBe('2')
    expect(chosen(pinned, 's', '3')).toEqual(['3'])
  })

  it('gives its canary to its part of the sessions, each time the same ones, and the stable version after it', async () => {
    const registry = await withReleases(registryOf(['1', '2']), { read: () => Promise.resolve(canaryOf(5)) })
    const other = await withReleases(registryOf(['1', '2']), { read: () => Promise.resolve(canaryOf(5)) })
    const drawn = sessions.filter((session) => chosen(registry, session)[0] === '2')
    expect(drawn.length / sessions.length).toBeGreaterThan(0.03)
    expect(drawn.length / sessions.length).toBeLessThan(0.07)
    for (const session of sessions) {
      expect(chosen(registry, session)).toEqual(drawn.includes(session) ? ['2', '1'] : ['1'])
      expect(chosen(other, session)).toEqual(chosen(registry, session))
    }
  })

  it('leaves out a canary that fails', async () => {
    let isFailing = false
    const models = { ...registryOf(['1', '2']), isFailing: () => isFailing }
    const registry = await withReleases(models, { read: () => Promise.resolve(canaryOf(100)) })
    expect(chosen(registry, 's')).toEqual(['2', '1'])
    isFailing = true
    expect(chosen(registry, 's')).toEqual(['1'])
    expect(chosen(registry, 's', '2')).toEqual(['2'])
  })

  it('takes no session from its canary when the part grows', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.nat(100), fc.nat(100), async (session, one, two) => {
        const [less, more] = [Math.min(one, two), Math.max(one, two)]
        const of = async (percent: number): Promise<string | undefined> => {
          const read = (): Promise<Releases> => Promise.resolve(canaryOf(percent))
          return chosen(await withReleases(registryOf(['1', '2']), { read }), session)[0]
        }
        if ((await of(less)) === '2') expect(await of(more)).toBe('2')
        expect([await of(0), await of(100)]).toEqual(['1', '2'])
      }),
    )
  })

  it('has the newest version that is not the canary if it names none', async () => {
    const read = (): Promise<Releases> =>
      Promise.resolve({ 'Default/calls': { canary: { version: '10', percent: 0 } } })
    const registry = await withReleases(
      registryOf(['8', '9', '10'], () => true),
      { read },
    )
    expect(chosen(registry, 's')).toEqual(['9', '8'])
  })

  it('has no older version that is the canary, and no version twice', async () => {
    const of = async (release: Release): Promise<readonly string[]> => {
      const models = registryOf(['7', '8', '9', '10'], () => true)
      const read = (): Promise<Releases> => Promise.resolve({ 'Default/calls': release })
      return chosen(await withReleases(models, { read }), 's')
    }
    expect(await of({ canary: { version: '8', percent: 0 } })).toEqual(['10', '9', '7'])
    expect(await of({ version: '9', canary: { version: '9', percent: 100 } })).toEqual(['9'])
  })

  it('gives its challenger to no session that names no version, as the newest or an older one', async () => {
    const of = async (release: Release): Promise<readonly string[]> => {
      const models = registryOf(['7', '8', '9'], () => true)
      return chosen(await withReleases(models, { read: () => Promise.resolve({ 'Default/calls': release }) }), 's')
    }
    expect(await of({ challenger: { version: '9', percent: 100 } })).toEqual(['8', '7'])
    expect(await of({ challenger: { version: '8', percent: 100 } })).toEqual(['9', '7'])
    expect(await of({ challenger: { name: 'calls', version: '8', percent: 100 } })).toEqual(['9', '7'])
    expect(await of({ challenger: { name: 'other', version: '9', percent: 100 } })).toEqual(['9', '8', '7'])
  })

  it('is read again with a reload, and used from its commit on', async () => {
    let releases = canaryOf(100)
    const commit = vi.fn()
    const registry = await withReleases(registryOf(['1', '2'], undefined, commit), {
      read: () => Promise.resolve(releases),
    })
    releases = { 'Default/calls': { version: '2', canary: { version: '1', percent: 0 } } }
    const prepared = await registry.prepareReload?.()
    expect(prepared?.find(calls)?.version).toBe('2')
    expect(prepared?.fingerprint).toContain('"percent":0')
    expect(chosen(registry, 's')).toEqual(['2', '1'])
    prepared?.commit()
    expect(commit).toHaveBeenCalledOnce()
    expect(chosen(registry, 's')).toEqual(['2'])
  })

  it('is refused if a service that has all of its models has not that version', async () => {
    const read = (): Promise<Releases> => Promise.resolve(canaryOf(5))
    const problem = 'The releases name the version 2 of Default/calls, which is not in the model folders.'
    await expect(withReleases(registryOf(['1']), { read, isComplete: true })).rejects.toThrow(problem)
    expect(chosen(await withReleases(registryOf(['1']), { read }), 's')).toEqual(['1'])
    let releases: Releases = {}
    const registry = await withReleases(registryOf(['1']), { read: () => Promise.resolve(releases), isComplete: true })
    releases = { 'Default/calls': { version: '2' } }
    const prepared = await registry.prepareReload?.()
    expect(prepared?.problems.map(({ message }) => message)).toEqual([problem])
    expect(prepared?.find(calls)?.version).toBe('1')
  })
})
