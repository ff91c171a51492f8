import { expect, it } from 'vitest'
import { projectRegistry, type Project } from '../../src/project/project.js'

it('finds a project by its exact tenant and name', () => {
  const projectOf = (tenant: string, name: string, version = '1'): Project => ({
    tenant,
    name,
    version,
    open: () => Promise.reject(new Error('not today')),
  })
  const [first, second] = [projectOf('Acme', 'talk'), projectOf('Other', 'talk')]
  const registry = projectRegistry([first, second])
  expect(registry.find('Acme', 'talk')).toBe(first)
  expect(registry.find('Other', 'talk')).toBe(second)
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

it('finds the newest version, and the first of two equal ones', () => {
  const projects = ['9', '10', '1.10', '10'].map((version): Project => ({
    tenant: 'A',
    name: 'p',
    version,
    open: () => Promise.reject(new Error('not today')),
  }))
  const registry = projectRegistry(projects)
  expect(registry.find('A', 'p')).toBe(projects[1])
  expect(registry.list().map(({ version }) => version)).toEqual(['1.10', '9', '10'])
})

it('gives an added tenant the projects of every tenant once, and none when the list of tenants is closed', () => {
  const given: string[] = []
  const projectsOf = (tenant: string): readonly Project[] => {
    given.push(tenant)
    return [{ tenant, name: 'talk', version: '1', open: () => Promise.reject(new Error('not today')) }]
  }
  const registry = projectRegistry(projectsOf('Acme'), [], projectsOf)
  for (const tenant of ['New', 'New', 'Acme']) registry.addTenant(tenant)
  expect(given).toEqual(['Acme', 'New'])
  expect(registry.find('New', 'talk')?.tenant).toBe('New')
  expect(registry.list()).toHaveLength(2)
  const closed = projectRegistry(projectsOf('Acme'))
  closed.addTenant('New')
  expect([closed.hasTenant('New'), closed.find('New', 'talk')]).toEqual([false, undefined])
})
