// @ts-check
import { ESLintUtils } from '@typescript-eslint/utils'

/**
 * Whether a type is RxJS's Observable or made from it, such as a Subject.
 *
 * @param {import('typescript').Type} type
 * @returns {boolean}
 */
const isObservable = (type) => {
  if (type.isUnionOrIntersection()) return type.types.some(isObservable)
  if (type.getSymbol()?.name === 'Observable') return true
  // `Subject<number>` is a reference to the class, which is what has bases.
  const declared = 'target' in type ? /** @type {import('typescript').Type} */ (type.target) : type
  return declared.isClassOrInterface() && (declared.getBaseTypes() ?? []).some(isObservable)
}

/**
 * The name of a variable that holds an Observable ends in `$`. A function that returns one is named for what it does,
 * which is why `rxjs-x/finnish` does not fit: it asks `$` of `const dial = () => observable`, too.
 */
export const observableNames = ESLintUtils.RuleCreator.withoutDocs({
  meta: {
    type: 'suggestion',
    schema: [],
    messages: { dollar: "'{{ name }}' holds an Observable: let its name end in $." },
  },
  defaultOptions: [],
  create: (context) => {
    const services = ESLintUtils.getParserServices(context)
    return {
      'VariableDeclarator > Identifier.id': (
        /** @type {import('@typescript-eslint/utils').TSESTree.Identifier} */ node,
      ) => {
        if (node.name.endsWith('$') || !isObservable(services.getTypeAtLocation(node))) return
        context.report({ node, messageId: 'dollar', data: { name: node.name } })
      },
    }
  },
})
