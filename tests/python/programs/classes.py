"""Classes made in functions: bodies, bases, metaclasses, hooks of creation, slots."""

import abc

from tests.python.registry import program


@program
def class_body_order():
    """The body of a class is executed from top to bottom, once."""
    log = []

    class C:
        log.append("start")
        x = len(log)
        log.append(x)
        for i in range(2):
            log.append(i)
        del i

        def f(self):
            return self.x

        y = [f, f]

    return log, C().f(), C.y[0](C), hasattr(C, "i")


@program
def class_locals():
    """`locals()` in a class body is its namespace."""

    class C:
        a = 1
        locals()["b"] = 2
        c = b
        names = sorted(n for n in locals() if not n.startswith("__"))

    return C.b, C.c, C.names


@program
def qualnames():
    """Qualified names tell where things were defined."""

    class A:
        class B:
            def f(self):
                def g():
                    return [lambda: 0]

                return g

    return A.B.f.__qualname__, A.B().f().__qualname__, A.B().f()()[0].__qualname__, A.__module__


@program
def init_and_new():
    """`__new__` makes, `__init__` fills, and only what is an instance is filled."""
    log = []

    class A:
        def __new__(cls, *args, **kw):
            log.append(("new", cls.__name__, args, kw))
            return super().__new__(cls) if args else 42

        def __init__(self, *args, **kw):
            log.append(("init", args, kw))
            self.args = args

    return A(), A(1, k=2).args, log


@program
def new_returns_other_instance():
    """`__init__` runs for any instance of the class, also one that exists."""
    log = []

    class Single:
        one = None

        def __new__(cls, x):
            cls.one = cls.one or super().__new__(cls)
            return cls.one

        def __init__(self, x):
            log.append(x)
            self.x = x

    a, b = Single(1), Single(2)
    return a is b, a.x, log


@program
def init_returning_value():
    """`__init__` must return None."""

    class A:
        def __init__(self):
            return 1

    try:
        A()
    except TypeError as error:
        return str(error)


@program
def init_raises():
    """An exception in `__init__` shows both lines."""

    class A:
        def __init__(self, x):
            self.x = 1 // x

    return A(0)


@program
def constructor_argument_errors():
    """Arguments nobody takes are refused by `object`."""

    class A:
        pass

    class B:
        def __init__(self, x):
            pass

    seen = []
    for call in (lambda: A(1), lambda: B(), lambda: B(1, 2), lambda: A(x=1)):
        try:
            call()
        except TypeError as error:
            seen.append(str(error))
    return seen


@program
def metaclass_call():
    """A metaclass takes over instance creation."""
    log = []

    class Meta(type):
        def __call__(cls, *args, **kw):
            log.append(("call", cls.__name__, args))
            made = super().__call__(*args, **kw)
            made.tag = "tagged"
            return made

    class A(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    a = A(3)
    return a.x, a.tag, log


@program
def metaclass_new_and_init():
    """`__prepare__`, `__new__` and `__init__` of a metaclass, in their order, with keywords."""
    log = []

    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases, **kw):
            log.append(("prepare", name, len(bases), kw))
            return {"given": 1}

        def __new__(mcs, name, bases, namespace, **kw):
            log.append(("new", name, "given" in namespace, kw))
            return super().__new__(mcs, name, bases, namespace)

        def __init__(cls, name, bases, namespace, **kw):
            log.append(("init", name, kw))
            super().__init__(name, bases, namespace)

    class A(metaclass=Meta, flag=True):
        seen = given

    class B(A):
        pass

    return log, A.seen, type(B).__name__


@program
def metaclass_recording_namespace():
    """A namespace that is no dict sees every store of the body."""
    log = []

    class Recording(dict):
        def __setitem__(self, key, value):
            if not key.startswith("__"):
                log.append(key)
            super().__setitem__(key, value)

        def __missing__(self, key):
            if key.startswith("auto"):
                return key.upper()
            raise KeyError(key)

    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases):
            return Recording()

    class A(metaclass=Meta):
        x = 1
        y = auto_value

        def f(self):
            pass

        x = 2

    return log, A.x, A.y


@program
def metaclass_is_a_function():
    """Any callable may stand as the metaclass."""

    def meta(name, bases, namespace):
        return name, bases, sorted(k for k in namespace if not k.startswith("__"))

    class A(metaclass=meta):
        x = 1

        def f(self):
            pass

    return A


@program
def metaclass_conflict():
    """Two unrelated metaclasses cannot be combined."""

    class M1(type):
        pass

    class M2(type):
        pass

    class A(metaclass=M1):
        pass

    class B(metaclass=M2):
        pass

    class C(A, B):
        pass


@program
def metaclass_attributes_and_operators():
    """Operators on classes are found on the metaclass."""

    class Meta(type):
        def __len__(cls):
            return 7

        def __getitem__(cls, key):
            return cls.__name__, key

        def __contains__(cls, x):
            return x == 3

        def __iter__(cls):
            return iter("abc")

        def __add__(cls, other):
            return "added"

        def __bool__(cls):
            return False

        def __getattr__(cls, name):
            return f"meta {name}"

        prop = property(lambda cls: cls.__name__)

    class A(metaclass=Meta):
        def __len__(self):
            return 0

    return len(A), A[1], 3 in A, list(A), A + 1, bool(A), A.missing, A.prop, len(A())


@program
def init_subclass():
    """`__init_subclass__` gets the keywords of the class statement."""
    log = []

    class Base:
        def __init_subclass__(cls, /, tag=None, **kw):
            super().__init_subclass__(**kw)
            log.append((cls.__name__, tag))
            cls.tag = tag

    class A(Base, tag="a"):
        pass

    class B(A):
        pass

    return log, A.tag, B.tag


@program
def init_subclass_refuses():
    """An unknown keyword of the class statement is refused by `object`."""
    try:

        class A(object, nonsense=1):
            pass

    except TypeError as error:
        return str(error)


@program
def set_name():
    """`__set_name__` is called for every attribute, in order, before `__init_subclass__`."""
    log = []

    class D:
        def __init__(self, label):
            self.label = label

        def __set_name__(self, owner, name):
            log.append((self.label, owner.__name__, name))

    class Base:
        def __init_subclass__(cls):
            log.append("init_subclass")

    class A(Base):
        x = D(1)
        y = D(2)
        z = x

    return log


@program
def set_name_raises():
    """An exception in `__set_name__` keeps its reason."""

    class D:
        def __set_name__(self, owner, name):
            raise KeyError("set_name")

    try:

        class A:
            d = D()

    except (RuntimeError, KeyError) as error:
        return type(error.__cause__ or error).__name__, (error.__cause__ or error).args


@program
def mro_diamond():
    """Methods of a diamond come in the order of the linearisation."""

    class A:
        def f(self):
            return ["A"]

    class B(A):
        def f(self):
            return ["B", *super().f()]

    class C(A):
        def f(self):
            return ["C", *super().f()]

    class D(B, C):
        def f(self):
            return ["D", *super().f()]

    return D().f(), [c.__name__ for c in D.__mro__], C().f()


@program
def mro_inconsistent():
    """Bases without a consistent order are refused."""

    class A:
        pass

    class B(A):
        pass

    class C(A, B):
        pass


@program
def mro_entries():
    """An object among the bases may stand for others."""

    class Proxy:
        def __init__(self, *bases):
            self.bases = bases

        def __mro_entries__(self, bases):
            return self.bases

    class A:
        x = 1

    p = Proxy(A, dict)

    class B(p):
        pass

    return [c.__name__ for c in B.__mro__], B.x, B.__orig_bases__ == (p,)


@program
def class_getitem():
    """`__class_getitem__` serves subscription of a class, inherited too."""

    class A:
        def __class_getitem__(cls, item):
            return cls.__name__, item

    class B(A):
        pass

    return A[1, 2], B["x"], list[int], dict[str, int].__args__


@program
def slots():
    """Slots store without a dict, and refuse other names."""

    class A:
        __slots__ = ("x", "_y")

        def __init__(self):
            self.x = 1

    a = A()
    seen = [a.x, hasattr(a, "__dict__"), hasattr(a, "_y")]
    a._y = 2
    del a.x
    for action in (lambda: a.x, lambda: setattr(a, "z", 1), lambda: delattr(a, "x")):
        try:
            action()
        except AttributeError as error:
            seen.append(type(error).__name__)
    return seen, a._y


@program
def slots_conflict():
    """A class attribute of the name of a slot is refused."""

    class A:
        __slots__ = ("x",)
        x = 1


@program
def slots_inherited_and_mangled():
    """Private slots are mangled; a subclass without slots has a dict."""

    class A:
        __slots__ = ("__p",)

        def __init__(self):
            self.__p = 3

        def get(self):
            return self.__p

    class B(A):
        pass

    b = B()
    b.extra = 1
    return b.get(), vars(b), b._A__p


@program
def private_names():
    """Names with two underscores are mangled with their class."""

    class A:
        __x = 1

        def get(self):
            __local = 5
            return self.__x, __local, A.__x

        def put(self, v):
            self.__x = v
            __class__.__shared = v

    class B(A):
        __x = 2

        def both(self):
            return self.__x, self._A__x

    b = B()
    b.put(9)
    return b.get(), b.both(), A._A__shared, sorted(vars(b))


@program
def getattr_fallback():
    """`__getattr__` is asked only for what is missing; `__getattribute__` for everything."""
    log = []

    class A:
        x = 1

        def __getattr__(self, name):
            log.append(("getattr", name))
            if name == "bad":
                raise AttributeError(name)
            return name.upper()

    class B(A):
        def __getattribute__(self, name):
            log.append(("attribute", name))
            return super().__getattribute__(name)

    a, b = A(), B()
    return a.x, a.y, hasattr(a, "bad"), getattr(a, "bad", "default"), b.x, b.z, log


@program
def property_raising_attribute_error():
    """An AttributeError inside of a property falls through to `__getattr__`."""

    class A:
        @property
        def p(self):
            return self.missing_inside

        def __getattr__(self, name):
            return f"fallback {name}"

    class B:
        @property
        def p(self):
            return self.missing_inside

    try:
        B().p
    except AttributeError as error:
        return A().p, str(error)


@program
def setattr_and_delattr():
    """`__setattr__` and `__delattr__` see every write, those of `__init__` too."""
    log = []

    class A:
        def __init__(self):
            self.x = 1

        def __setattr__(self, name, value):
            log.append(("set", name, value))
            super().__setattr__(name, value)

        def __delattr__(self, name):
            log.append(("del", name))
            object.__delattr__(self, name)

    a = A()
    a.x += 1
    a.y = a.x = 5
    del a.y
    setattr(a, "z", 0)
    delattr(a, "z")
    return log, vars(a)


@program
def class_attribute_shadowing():
    """An augmented assignment on an instance reads the class and writes the instance."""

    class A:
        n = 1
        items = []

    a, b = A(), A()
    a.n += 1
    a.items += [1]
    return a.n, b.n, A.n, b.items, vars(a), vars(b), a.items is b.items


@program
def dunder_on_instance_is_ignored():
    """Operators look on the type, not on the instance."""

    class A:
        def __len__(self):
            return 1

    a = A()
    a.__len__ = lambda: 100
    a.__getitem__ = lambda i: i
    try:
        a[0]
    except TypeError as error:
        return len(a), a.__len__(), type(error).__name__


@program
def subclass_of_builtins():
    """Subclasses of builtins with their own methods."""

    class L(list):
        def append(self, x):
            super().append(x * 2)

        def __getitem__(self, i):
            return ("item", super().__getitem__(i))

    class D(dict):
        def __missing__(self, key):
            return f"missing {key}"

    class I(int):
        def __add__(self, other):
            return I(int(self) * 100 + other)

        __radd__ = __add__

    class S(str):
        __slots__ = ()

        def __mod__(self, other):
            return "mod"

    x = L([1])
    x.append(5)
    d = D(a=1)
    return x[1], list(x), d["a"], d["b"], d.get("b"), I(3) + 4, 4 + I(3), S("%s") % 1, I(1) + I(2)


@program
def abstract_classes():
    """A class with abstract methods cannot be made."""

    class A(abc.ABC):
        @abc.abstractmethod
        def f(self):
            return "base"

        @property
        @abc.abstractmethod
        def p(self): ...

    class B(A):
        def f(self):
            return "B" + super().f()

        p = 3

    class V:
        pass

    A.register(V)
    try:
        A()
    except TypeError as error:
        return B().f(), B().p, isinstance(V(), A), issubclass(V, A), type(error).__name__


@program
def instancecheck_and_subclasscheck():
    """A metaclass decides `isinstance` and `issubclass`."""
    log = []

    class Meta(type):
        def __instancecheck__(cls, instance):
            log.append(("instance", instance))
            return instance == 3

        def __subclasscheck__(cls, sub):
            log.append(("subclass", sub.__name__))
            return sub is int

    class A(metaclass=Meta):
        pass

    return isinstance(3, A), isinstance(4, A), issubclass(int, A), isinstance(3, (str, A)), log


@program
def class_decorators():
    """Decorators of classes are applied from the inside out."""
    log = []

    def tag(name):
        log.append(("made", name))

        def apply(cls):
            log.append(("applied", name, cls.__name__))
            cls.tags = [*getattr(cls, "tags", []), name]
            return cls

        return apply

    @tag("outer")
    @tag("inner")
    class A:
        log.append("body")

    return log, A.tags


@program
def type_with_three_arguments():
    """`type(name, bases, namespace)` makes a class with interpreted methods."""
    A = type("A", (), {"f": lambda self: ("f", self.x), "x": 4})
    B = type("B", (A,), {"__init__": lambda self, y: setattr(self, "y", y)})
    return A().f(), B(2).y, B(2).f(), B.__mro__[1].__name__


@program
def hash_and_eq():
    """Defining `__eq__` alone removes hashing."""

    class A:
        def __eq__(self, other):
            return True

    class B:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return isinstance(other, B) and self.n == other.n

        def __hash__(self):
            return hash(self.n)

    try:
        hash(A())
    except TypeError as error:
        message = str(error)
    return message, len({B(1), B(1), B(2)}), {B(1): "x"}[B(1)], B(1) in [B(1)], A.__hash__


@program
def bool_and_len():
    """Truth asks `__bool__`, then `__len__`, then says True."""
    log = []

    class A:
        def __bool__(self):
            log.append("bool")
            return False

        def __len__(self):
            return 1

    class B:
        def __len__(self):
            log.append("len")
            return 0

    class C:
        pass

    class D:
        def __bool__(self):
            return 1

    seen = ["t" if x else "f" for x in (A(), B(), C())]
    try:
        if D():
            pass
    except TypeError as error:
        seen.append(str(error))
    try:
        not D()
    except TypeError as error:
        seen.append("not")
    return seen, log, A() or "or", C() and "and"


@program
def del_is_called():
    """The finaliser runs when the last reference goes (CPython counts references)."""
    log = []

    class A:
        def __del__(self):
            log.append("del")

    def f():
        a = A()
        log.append("made")
        return None if a else a

    f()
    log.append("after")
    return log


@program
def repr_str_format():
    """`repr`, `str` and `format` fall back on each other."""

    class A:
        def __repr__(self):
            return "A()"

    class B(A):
        def __str__(self):
            return "B!"

        def __format__(self, spec):
            return f"<{spec}>"

    return repr(A()), str(A()), f"{A()}", f"{B()!r} {B()!s} {B():spec} {B()}", [A(), B()].__repr__()


@program
def metaclass_call_of_classes_without_init():
    """It runs once for each object, also where a class has neither `__new__` nor `__init__`."""
    log = []

    class Meta(type):
        made = None

        def __call__(cls, *args):
            log.append("call")
            if cls.made is None:
                cls.made = super().__call__(*args)
            return cls.made

    class A(metaclass=Meta):
        pass

    class B(dict, metaclass=Meta):
        pass

    return A() is A(), B([(1, 2)]), B(), log
