import { EMPTY } from 'rxjs'
import { expect, it } from 'vitest'
import { projectRegistry, type Project } from '../../../src/service/project/project.js'

it('finds a project by its tenant and its name, whole and exactly', () => {
  const projectOf = (tenant: string, name: string): Project => ({
    tenant,
    name,
    defaultModel: 'm',
    open: () => Promise.resolve(() => EMPTY),
  })
  const [one, other] = [projectOf('Acme', 'talk'), projectOf('Other', 'talk')]
  const registry = projectRegistry([one, other])
  expect(registry.find('Acme', 'talk')).toBe(one)
  expect(registry.find('Other', 'talk')).toBe(other)
  for (const [tenant, name] of [
    ['acme', 'talk'],
    ['Acme', 'Talk'],
    ['Acme', 'talk/'],
    ['', ''],
  ] as const) {
    expect(registry.find(tenant, name)).toBeUndefined()
  }
  expect([registry.hasTenant('Acme'), registry.hasTenant('Nobody'), registry.hasTenant('')]).toEqual([
    true,
    false,
    false,
  ])
})
