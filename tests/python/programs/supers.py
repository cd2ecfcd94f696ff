"""`super()`: with and without arguments, in every place it may stand."""

from tests.python.registry import program


class Base:
    """What the programs call."""

    tag = "Base"

    def f(self, *args):
        """Give who was called."""
        return ("Base.f", type(self).__name__, args)

    @classmethod
    def c(cls, *args):
        """Give the class."""
        return ("Base.c", cls.__name__, args)

    @staticmethod
    def s(*args):
        """Give the arguments."""
        return ("Base.s", args)

    @property
    def p(self):
        """Give something of the instance."""
        return ("Base.p", type(self).__name__)


@program
def methods():
    """A method, a class method, a static method and a property through `super()`."""

    class A(Base):
        def f(self, *args):
            return super().f(1, *args)

        @classmethod
        def c(cls, *args):
            return super().c(2, *args)

        @staticmethod
        def s(*args):
            return super(A, A).s(3, *args)

        @property
        def p(self):
            return super().p

    class B(A):
        pass

    return B().f(0), B.c(0), B().c(0), B.s(0), B().p


@program
def two_arguments():
    """`super(type, object)` starts after the type."""

    class A(Base):
        def f(self):
            return "A.f"

    class B(A):
        def f(self):
            return super(A, self).f(), super(B, self).f(), super(B, B).f(self)

    return B().f()


@program
def as_object():
    """A `super` object can be kept, and reads attributes later."""

    class A(Base):
        tag = "A"

        def keep(self):
            return super()

    s = A().keep()
    return s.tag, s.f(5), type(s).__name__, s.__thisclass__.__name__, s.__self_class__.__name__


@program
def new():
    """`super().__new__` in `__new__`, whose first argument is a class."""

    class A(tuple):
        def __new__(cls, *items):
            return super().__new__(cls, items)

    class B(A):
        def __new__(cls, n):
            return super().__new__(cls, *range(n))

    return B(3), type(B(1)).__name__


@program
def setattr_through_super():
    """`super().__setattr__` writes; a plain store on `super()` does not exist."""

    class A:
        def __init__(self):
            super().__setattr__("x", 1)

        def try_store(self):
            super().x = 2

    a = A()
    try:
        a.try_store()
    except AttributeError as error:
        return a.x, type(error).__name__


@program
def first_argument_rebound():
    """`super()` uses what the first parameter holds now... as long as it is an instance."""

    class A(Base):
        def f(self):
            other = A()
            other.tag = "other"
            self = other
            return super().f(), self.tag

        def g(self):
            self = 1
            return super().f()

        def h(self):
            del self
            return super().f()

    seen = [A().f()]
    for name in "gh":
        try:
            getattr(A(), name)()
        except (TypeError, RuntimeError) as error:
            seen.append((type(error).__name__, str(error)))
    return seen


@program
def first_argument_in_cell():
    """The first parameter may be captured."""

    class A(Base):
        def f(self):
            g = lambda: self.tag
            return super().f(), g()

    return A().f()


@program
def in_nested_function():
    """`super()` in a nested function needs its own first argument."""

    class A(Base):
        def f(self):
            def g(me):
                return super().f("g")

            def h():
                return super().f("h")

            seen = [g(self)]
            try:
                h()
            except RuntimeError as error:
                seen.append(str(error))
            return seen

    return A().f()


@program
def in_comprehension():
    """`super(A, self)` in a comprehension; without arguments it depends on the version's scopes."""

    class A(Base):
        def f(self):
            return [super(A, self).f(i) for i in range(2)]

    return A().f()


@program
def in_generator():
    """`super()` in a generator method."""

    class A:
        def items(self):
            yield 1
            yield 2

    class B(A):
        def items(self):
            yield 0
            yield from super().items()
            for x in super().items():
                yield x * 10

    return list(B().items())


@program
def in_lambda():
    """`super()` in a lambda with an argument."""

    class A(Base):
        g = lambda self, *a: super().f(*a)

    return A().g(1, 2)


@program
def outside_of_class():
    """`super()` in a plain function has no `__class__`."""

    def f(x):
        return super().f()

    try:
        f(Base())
    except RuntimeError as error:
        return str(error)


@program
def missing_attribute():
    """An attribute nobody has."""

    class A(Base):
        def f(self):
            return super().nothing

    try:
        A().f()
    except AttributeError as error:
        return str(error)


@program
def dunder_class_reference():
    """`__class__` alone is the class being defined, also in subclasses."""

    class A:
        def who(self):
            return __class__.__name__

        @classmethod
        def made(cls):
            return __class__, cls

    class B(A):
        pass

    return B().who(), [c.__name__ for c in B.made()]


@program
def cooperative_init():
    """Keyword arguments are handed along a diamond."""
    log = []

    class Root:
        def __init__(self, **kw):
            log.append(("Root", sorted(kw)))

    class A(Root):
        def __init__(self, *, a, **kw):
            log.append("A")
            super().__init__(**kw)
            self.a = a

    class B(Root):
        def __init__(self, *, b, **kw):
            log.append("B")
            super().__init__(**kw)
            self.b = b

    class C(A, B):
        def __init__(self, **kw):
            log.append("C")
            super().__init__(**kw)

    c = C(a=1, b=2, rest=3)
    return log, c.a, c.b


@program
def operators_through_super():
    """Dunder methods through `super()` are looked up like any other."""

    class A(list):
        def __getitem__(self, i):
            return ("got", super().__getitem__(i))

        def __len__(self):
            return super().__len__() + 100

        def __eq__(self, other):
            return super().__eq__(other)

        __hash__ = None

        def __contains__(self, x):
            return not super().__contains__(x)

    a = A([1, 2])
    return a[0], len(a), a == [1, 2], 1 in a, 5 in a


@program
def super_is_shadowed():
    """A local named `super` is an ordinary name."""

    def f(super):
        return super()

    class A:
        def g(self):
            super = lambda *a: "shadow"
            return super()

    return f(lambda: "param"), A().g()


@program
def descriptor_receives_instance():
    """A descriptor reached through `super()` is given the instance and its class."""

    class D:
        def __get__(self, obj, cls):
            return type(obj).__name__, cls.__name__

    class A:
        d = D()

    class B(A):
        d = None

        def f(self):
            return super().d

        @classmethod
        def c(cls):
            return super().d

    return B().f(), B.c()


@program
def method_passed_on():
    """A bound method taken from `super()` stays bound."""

    class A(Base):
        def f(self):
            m = super().f
            return list(map(m, [1, 2])), m.__self__ is self

    return A().f()


@program
def class_cell_empty():
    """`__class__` is not yet set while the body runs."""
    log = []

    class Meta(type):
        def __init__(cls, name, bases, namespace):
            log.append(namespace["f"](cls) is cls)
            super().__init__(name, bases, namespace)

    class A(metaclass=Meta):
        def f(self):
            return __class__

    try:

        class B:
            def f(self):
                return __class__

            f(None)

    except NameError as error:
        return log, type(error).__name__


@program
def super_of_the_module_is_replaced():
    """A `super` that appears among the globals gets the arguments that were written."""
    scope = {}
    source = """
class A:
    def f(self):
        return super().x

    def g(self):
        return super(A, self).x
"""
    exec(source, scope)

    class Mine:
        def __init__(self, *operands):
            self.x = len(operands)

    scope["super"] = Mine
    return scope["A"]().f(), scope["A"]().g()
