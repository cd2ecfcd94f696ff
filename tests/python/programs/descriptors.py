"""Descriptors and properties: who is asked, with what, in which order."""

import functools
import operator

from tests.python.registry import program


@program
def property_get_set_delete():
    """The three sides of a property."""
    log = []

    class A:
        def __init__(self):
            self._x = 1

        @property
        def x(self):
            """The x."""
            log.append("get")
            return self._x

        @x.setter
        def x(self, value):
            log.append(("set", value))
            self._x = value

        @x.deleter
        def x(self):
            log.append("del")
            del self._x

    a = A()
    a.x += 5
    a.x = a.x * 2
    y = a.x
    del a.x
    return y, log, A.x.__doc__, vars(a)


@program
def property_read_only():
    """A property without setter refuses writes and deletion."""

    class A:
        p = property(lambda self: 1)

    a = A()
    seen = []
    for action in (lambda: setattr(a, "p", 2), lambda: delattr(a, "p")):
        try:
            action()
        except AttributeError as error:
            seen.append(type(error).__name__)
    vars(a)["p"] = "hidden"
    return seen, a.p


@program
def data_and_non_data():
    """A data descriptor wins over the instance, a non-data one loses."""

    class Data:
        def __get__(self, obj, cls):
            return "data"

        def __set__(self, obj, value):
            vars(obj)["log"] = value

    class NonData:
        def __get__(self, obj, cls):
            return "nondata"

    class A:
        d = Data()
        n = NonData()

    a = A()
    vars(a).update(d="instance", n="instance")
    a.d = "written"
    before = a.n
    del a.n
    return a.d, before, a.n, a.log, A.d, A.n


@program
def descriptor_arguments():
    """`__get__` is given the instance or None, and the class."""

    class D:
        def __get__(self, obj, cls=None):
            return (obj if obj is None else type(obj).__name__), cls.__name__

    class A:
        d = D()

    class B(A):
        pass

    return B().d, B.d, A().d, getattr(B(), "d"), vars(A)["d"].__get__(None, int)


@program
def descriptor_on_instance_is_plain():
    """A descriptor in an instance's dict is an ordinary value."""

    class D:
        def __get__(self, obj, cls):
            return "got"

    class A:
        pass

    a = A()
    a.d = D()
    return type(a.d).__name__


@program
def functions_are_descriptors():
    """`__get__` of a function binds it."""

    def f(self, x):
        return self, x

    bound = f.__get__(5)
    return bound(6), f.__get__(None, int) is f, bound.__self__, type(bound).__name__


@program
def classmethod_and_staticmethod():
    """Reached from the class, an instance, and a subclass."""

    class A:
        @classmethod
        def c(cls, *args):
            return cls.__name__, args

        @staticmethod
        def s(*args):
            return args

    class B(A):
        pass

    return A.c(1), B().c(2), A.s(3), B().s(4), A.c.__func__.__name__, B.c.__self__ is B


@program
def descriptor_raises():
    """Exceptions in descriptors pass, with their lines."""

    class D:
        def __get__(self, obj, cls):
            raise KeyError("in get")

    class A:
        d = D()

        def __getattr__(self, name):
            return "never"

    return A().d


@program
def cached_property():
    """`functools.cached_property` computes once per instance."""
    log = []

    class A:
        @functools.cached_property
        def x(self):
            log.append("computed")
            return [1]

    a, b = A(), A()
    same = a.x is a.x
    a.x.append(2)
    b.x
    del a.x
    return same, a.x, log, sorted(vars(a))


@program
def lazy_descriptor_replaces_itself():
    """A non-data descriptor that stores its value on first use."""
    log = []

    class Lazy:
        def __init__(self, make):
            self.make = make

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, obj, cls):
            if obj is None:
                return self
            log.append(self.name)
            value = vars(obj)[self.name] = self.make(obj)
            return value

    class A:
        x = Lazy(lambda self: len(log))
        y = Lazy(lambda self: self.x + 10)

    a = A()
    return a.y, a.x, a.y, log


@program
def validated_field():
    """A data descriptor that checks what is written, in `__init__` too."""

    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, cls):
            return getattr(obj, self.name)

        def __set__(self, obj, value):
            if value <= 0:
                raise ValueError(f"{self.name[1:]} must be positive")
            setattr(obj, self.name, value)

    class A:
        width = Positive()
        height = Positive()

        def __init__(self, w, h):
            self.width, self.height = w, h

    a = A(2, 3)
    a.width *= 2
    try:
        a.height -= 3
    except ValueError as error:
        return a.width, a.height, str(error)


@program
def property_inheritance():
    """A subclass extends the getter of a property of its base."""

    class A:
        @property
        def x(self):
            return "A"

    class B(A):
        @A.x.getter
        def x(self):
            return "B" + super().x

    class C(B):
        @property
        def x(self):
            return "C" + B.x.fget(self)

    return B().x, C().x


@program
def class_property_through_metaclass():
    """A property of the metaclass is a property of the class, not of instances."""

    class Meta(type):
        @property
        def size(cls):
            return len(cls.items)

        @size.setter
        def size(cls, n):
            cls.items = [0] * n

    class A(metaclass=Meta):
        items = [1, 2]

    before = A.size
    A.size = 5
    try:
        A().size
    except AttributeError as error:
        return before, A.items, type(error).__name__


@program
def attribute_lookup_order():
    """Metaclass data descriptor, own class, metaclass: in this order."""

    class D:
        def __init__(self, tag):
            self.tag = tag

        def __get__(self, obj, cls):
            return self.tag

    class DD(D):
        def __set__(self, obj, value):
            pass

    class Meta(type):
        a = DD("meta data")
        b = D("meta nondata")
        c = D("meta only")

    class A(metaclass=Meta):
        a = "class"
        b = "class"

    return A.a, A.b, A.c


@program
def getattribute_counts():
    """Each dot is one lookup; operators on the type are none."""
    log = []

    class A:
        def __init__(self):
            self.inner = None

        def __getattribute__(self, name):
            log.append(name)
            return object.__getattribute__(self, name)

        def __len__(self):
            return 0

        def __call__(self):
            return "called"

        def m(self):
            return self.inner

    a = A()
    len(a), a(), bool(a), a.m(), hasattr(a, "zzz")
    return log


@program
def getattr_with_default():
    """`getattr` with a default swallows AttributeError alone."""

    class A:
        @property
        def ok(self):
            return 1

        @property
        def missing(self):
            raise AttributeError("no")

        @property
        def broken(self):
            raise ValueError("broken")

    a = A()
    seen = [getattr(a, "ok", 0), getattr(a, "missing", "default"), getattr(a, "nothing", None)]
    try:
        getattr(a, "broken", "default")
    except ValueError as error:
        seen.append(str(error))
    return seen


@program
def attrgetter_reaches_properties():
    """`operator.attrgetter`, `itemgetter` and `methodcaller` reach Python code."""

    class A:
        def __init__(self, n):
            self.n = n

        @property
        def next(self):
            return A(self.n + 1)

        def __getitem__(self, key):
            return (self.n, key)

        def f(self, *args, **kw):
            return self.n, args, kw

    a = A(1)
    return (
        operator.attrgetter("next.next.n")(a),
        operator.itemgetter("k", 2)(a),
        operator.methodcaller("f", 1, k=2)(a),
    )


@program
def setattr_builtin_calls_descriptor():
    """`setattr` and `delattr` reach descriptors."""
    log = []

    class D:
        def __set__(self, obj, value):
            log.append(("set", value))

        def __delete__(self, obj):
            log.append("delete")

    class A:
        d = D()

    a = A()
    setattr(a, "d", 1)
    a.d = 2
    delattr(a, "d")
    del a.d
    return log, isinstance(a.d, D)


@program
def singledispatchmethod():
    """Dispatch on the type of the first argument, bound."""

    class A:
        @functools.singledispatchmethod
        def f(self, x):
            return "object", x

        @f.register
        def _(self, x: int):
            return "int", x

        @f.register(list)
        def _(self, x):
            return "list", [self.f(one) for one in x]

    return A().f(1), A().f("x"), A().f([1, "y", [2]])


@program
def dir_and_vars():
    """`vars`, `dir` with `__dir__`, and `__dict__` of classes."""

    class A:
        x = 1

        def __init__(self):
            self.y = 2

        def __dir__(self):
            return ["b", "a"]

    a = A()
    vars(a)["z"] = 3
    a.__dict__["w"] = 4
    return vars(a), dir(a), a.z, a.w, "x" in vars(A), type(vars(A)).__name__


@program
def wrapper_descriptor_types():
    """Bound and unbound slots of builtins."""
    return (
        type([].append).__name__,
        type(list.append).__name__,
        (5).__add__(6),
        int.__add__(1, 2),
        "abc".__getitem__(1),
        object.__getattribute__(3, "real"),
        type.__call__(list, "ab"),
    )
